"""Distil a wide digit classifier into a small one, with warm restarts."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(0)
x, y = load_digits(return_X_y=True)
x, x_val, y, y_val = train_test_split(x / 16, y, test_size=0.25, stratify=y, random_state=1)
x, x_val = torch.tensor(x, dtype=torch.float32), torch.tensor(x_val, dtype=torch.float32)
y, y_val = torch.tensor(y), torch.tensor(y_val)


def mlp(width, drop=0.0):
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Dropout(drop), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))


def accuracy(net):
    net.eval()
    with torch.no_grad():
        return (net(x_val).argmax(1) == y_val).float().mean().item()


teacher = mlp(192, drop=0.3)
opt = torch.optim.Adam(teacher.parameters(), lr=1e-3)
for epoch in range(12):
    teacher.train()
    for b in torch.randperm(len(x)).split(32):
        loss = F.cross_entropy(teacher(x[b]), y[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
print(f"teacher val acc {accuracy(teacher):.3f}")
for p in teacher.parameters():
    p.requires_grad_(False)

T, ALPHA, MICRO = 3.0, 0.8, 2
student = mlp(24)
opt = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=5, T_mult=2, eta_min=1e-4)
steps = len(x) // 64
for epoch in range(35):
    student.train()
    total = 0.0
    for i in range(steps):
        opt.zero_grad()
        for b in torch.randint(0, len(x), (64,)).chunk(MICRO):
            noisy = x[b] + 0.05 * torch.randn(len(b), 64)
            soft_s, soft_t = F.log_softmax(student(noisy) / T, dim=1), F.log_softmax(teacher(noisy) / T, dim=1)
            soft = F.kl_div(soft_s, soft_t, reduction="batchmean", log_target=True) * T * T
            loss = ALPHA * soft + (1 - ALPHA) * F.cross_entropy(student(noisy), y[b])
            (loss / MICRO).backward()
            total += loss.item() / MICRO
        opt.step()
        sched.step(epoch + i / steps)
    if epoch % 3 == 1:
        print(f"epoch {epoch:2d} lr {opt.param_groups[0]['lr']:.4f} loss {total / steps:.4f} val acc {accuracy(student):.3f}")
