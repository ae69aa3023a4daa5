import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(8)
X, y = load_digits(return_X_y=True)
X, y = torch.tensor(X, dtype=torch.float32) / 16, torch.tensor(y)
p = torch.randperm(len(y))
X, y = X[p], y[p]
Xt, yt, Xv, yv = X[:1300], y[:1300], X[1300:], y[1300:]
T, ALPHA = 3.0, 0.7

teacher = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, 10))
student = nn.Sequential(nn.Linear(64, 24), nn.ReLU(), nn.Linear(24, 10))


def accuracy(m):
    m.eval()
    with torch.no_grad():
        return (m(Xv).argmax(1) == yv).float().mean().item()


opt = torch.optim.Adam(teacher.parameters(), lr=3e-3)
for ep in range(8):
    teacher.train()
    tot = 0.0
    for i in torch.randperm(len(yt)).split(50):
        loss = F.cross_entropy(teacher(Xt[i]), yt[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(i) / len(yt)
print(f"teacher loss {tot:.4f} acc {accuracy(teacher):.3f}")

teacher.eval()
kl = nn.KLDivLoss(reduction="batchmean")
opt = torch.optim.Adam(student.parameters(), lr=5e-3)
for ep in range(12):
    student.train()
    tot = 0.0
    for i in torch.randperm(len(yt)).split(50):
        with torch.no_grad():
            soft = F.softmax(teacher(Xt[i]) / T, dim=1)
        logits = student(Xt[i])
        loss = ALPHA * T * T * kl(F.log_softmax(logits / T, dim=1), soft) + (1 - ALPHA) * F.cross_entropy(logits, yt[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(i) / len(yt)
    if ep % 2 == 1:
        acc = accuracy(student)
        with torch.no_grad():
            v = F.cross_entropy(student(Xv), yv).item()
        print(f"student epoch {ep + 1:2d} loss {tot:.4f} val ce {v:.4f} acc {acc:.3f}")
