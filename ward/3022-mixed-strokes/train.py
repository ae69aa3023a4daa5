import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def augment(x):
    """Shift by up to one pixel, erase a patch, add noise."""
    n = len(x)
    x = F.pad(x, (1, 1, 1, 1), value=-1.0)
    dx, dy = np.random.randint(0, 3, (2, n))
    x = torch.stack([img[:, b:b + 8, a:a + 8] for img, a, b in zip(x, dx, dy)])
    hole = torch.rand(n, 1, 8, 8) < 0.08
    return torch.where(hole, torch.zeros(()), x) + 0.2 * torch.randn_like(x)


def mixup(x, y, alpha):
    lam = float(np.random.beta(alpha, alpha))
    other = torch.randperm(len(y))
    return lam * x + (1 - lam) * x[other], y, y[other], lam


class Block(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv = nn.Conv2d(i, o, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(o)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)))


def get_args():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=30)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--alpha", type=float, default=0.4)
    ap.add_argument("--smoothing", type=float, default=0.1)
    return ap.parse_args()


def main():
    args = get_args()
    np.random.seed(0)
    torch.manual_seed(0)
    d = load_digits()
    x = torch.tensor(d.images, dtype=torch.float32)[:, None] / 8 - 1
    y = torch.tensor(d.target)
    xt, xv, yt, yv = train_test_split(x, y, test_size=0.25, random_state=0, stratify=y)
    model = nn.Sequential(Block(1, 24), Block(24, 24), nn.MaxPool2d(2), Block(24, 48), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
                          nn.Dropout(0.2), nn.Linear(192, 10))
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True, weight_decay=5e-4)
    steps = args.epochs * -(-len(yt) // 64)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=args.lr, total_steps=steps)
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(yt)).split(64):
            xb, ya, yb, lam = mixup(augment(xt[idx]), yt[idx], args.alpha)
            out = model(xb)
            loss = (lam * F.cross_entropy(out, ya, label_smoothing=args.smoothing)
                    + (1 - lam) * F.cross_entropy(out, yb, label_smoothing=args.smoothing))
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            total += loss.item() * len(idx) / len(yt)
        model.eval()
        with torch.no_grad():
            out = model(xv)
        print(f"epoch {epoch:2d} train loss {total:.3f} val loss {F.cross_entropy(out, yv).item():.3f} "
              f"val acc {(out.argmax(1) == yv).float().mean().item():.4f}")


main()
