"""Train a wide teacher on digits, then squeeze it into a small student (response + feature distillation)."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(3)
T = 3.0
ALPHA = 0.7


class Teacher(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                                  nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2))
        self.hid = nn.Linear(32 * 16, 64)
        self.drop = nn.Dropout(0.2)
        self.cls = nn.Linear(64, 10)

    def forward(self, x):
        f = F.relu(self.hid(self.conv(x).flatten(1)))
        return self.cls(self.drop(f)), f


class Student(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(64, width), nn.ReLU())
        self.cls = nn.Linear(width, 10)
        self.adapt = nn.Linear(width, 64)  # only for the feature hint

    def forward(self, x):
        f = self.body(x)
        return self.cls(f), self.adapt(f)


def soft_targets(student_logits, teacher_logits):
    p_teacher = F.softmax(teacher_logits / T, dim=1)
    return F.kl_div(student_logits / T, p_teacher, reduction="batchmean") * T * T


@torch.no_grad()
def score(net, x, y):
    net.eval()
    return (net(x)[0].argmax(1) == y).float().mean().item()


digits = load_digits()
x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16.0
y = torch.tensor(digits.target)
idx_tr, idx_va = train_test_split(range(len(y)), test_size=0.25, stratify=digits.target, random_state=1)
mu, sd = x[idx_tr].mean(), x[idx_tr].std()
x = (x - mu) / sd
xtr, ytr, xva, yva = x[idx_tr], y[idx_tr], x[idx_va], y[idx_va]

# ---- stage 1: teacher
teacher = Teacher()
opt_t = torch.optim.AdamW(teacher.parameters(), lr=1e-3, weight_decay=1e-3)
for ep in range(8):
    teacher.train()
    for b in torch.randperm(len(ytr)).split(64):
        out, _ = teacher(xtr[b])
        loss = F.cross_entropy(out, ytr[b])
        opt_t.zero_grad()
        loss.backward()
        opt_t.step()
print(f"teacher: train {score(teacher, xtr, ytr):.3f} val {score(teacher, xva, yva):.3f}")

# ---- stage 2: student
for p in teacher.parameters():
    p.requires_grad_(False)
teacher.eval()
student = Student()
opt_s = torch.optim.Adam(student.parameters(), lr=2e-3)
for ep in range(30):
    student.train()
    tot = {"hard": 0.0, "soft": 0.0, "hint": 0.0}
    n = 0
    for b in torch.randperm(len(ytr)).split(64):
        with torch.no_grad():
            t_out, t_feat = teacher(xtr[b])
        s_out, s_feat = student(xtr[b])
        hard = F.cross_entropy(s_out, ytr[b])
        soft = soft_targets(s_out, t_out)
        hint = F.mse_loss(s_feat, t_feat)
        loss = (1 - ALPHA) * hard + ALPHA * soft + 0.1 * hint
        opt_s.zero_grad()
        loss.backward()
        opt_s.step()
        for k, v in (("hard", hard), ("soft", soft), ("hint", hint)):
            tot[k] += v.item()
        n += 1
    if ep % 3 == 2:
        parts = " ".join(f"{k} {v / n:.3f}" for k, v in tot.items())
        print(f"student {ep + 1:2d}: {parts} | val acc {score(student, xva, yva):.3f}")
