# Distil a wide digits network into a tiny one (Hinton et al. 2015)
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


@dataclass
class Config:
    temperature: float = 3.0
    alpha: float = 0.7
    teacher_epochs: int = 15
    student_epochs: int = 40
    batch: int = 64
    lr: float = 4e-3
    seed: int = 5


cfg = Config()
torch.manual_seed(cfg.seed)

images, labels = load_digits(return_X_y=True)
Xtr, Xte, ytr, yte = train_test_split(images / 16.0, labels, test_size=0.25, stratify=labels, random_state=1)
mu, sd = Xtr.mean(), Xtr.std()
Xtr, Xte = [torch.tensor((a - mu) / sd, dtype=torch.float32) for a in (Xtr, Xte)]
ytr, yte = torch.tensor(ytr), torch.tensor(yte)

teacher = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.3), nn.Linear(256, 256), nn.ReLU(), nn.Dropout(0.3), nn.Linear(256, 10))
student = nn.Sequential(nn.Linear(64, 20), nn.ReLU(), nn.Linear(20, 10))


def soft_target_loss(s, t, T):
    return F.kl_div(F.log_softmax(s / T, dim=1), F.softmax(t / T, dim=1), reduction="batchmean") * T * T


def accuracy(net):
    net.eval()
    with torch.no_grad():
        return (net(Xte).argmax(1) == yte).float().mean().item()


def fit(net, epochs, objective):
    opt = torch.optim.Adam(net.parameters(), lr=cfg.lr, weight_decay=1e-4)
    for epoch in range(epochs):
        net.train()
        total = 0.0
        for idx in torch.randperm(len(Xtr)).split(cfg.batch):
            opt.zero_grad()
            loss = objective(net(Xtr[idx]), Xtr[idx], ytr[idx])
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        if (epoch + 1) % 5 == 0:
            print(f"   epoch {epoch + 1:3d}  loss {total / len(Xtr):10.4f}  test accuracy {accuracy(net):.3f}")


def hard(out, x, y):
    return F.cross_entropy(out, y)


def distil(out, x, y):
    with torch.no_grad():
        t = teacher(x)
    return cfg.alpha * soft_target_loss(out, t, cfg.temperature) + (1 - cfg.alpha) * F.cross_entropy(out, y)


print("teacher")
fit(teacher, cfg.teacher_epochs, hard)
teacher.eval()
print("student")
fit(student, cfg.student_epochs, distil)
print(f"teacher {accuracy(teacher):.3f}  student {accuracy(student):.3f}")
