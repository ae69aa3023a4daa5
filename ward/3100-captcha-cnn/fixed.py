"""Reads single digits that sit somewhere on a 20x20 canvas with clutter."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=24)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--lr", type=float, default=0.005)
    p.add_argument("--seed", type=int, default=7)
    return p.parse_args()


def place(glyphs, gen):
    n = len(glyphs)
    canvas = torch.rand(n, 1, 20, 20, generator=gen) * 0.25
    top = torch.randint(0, 8, (n,), generator=gen)
    left = torch.randint(0, 8, (n,), generator=gen)
    big = F.interpolate(glyphs, size=(13, 13), mode="bilinear", align_corners=False)
    for i in range(n):
        canvas[i, :, top[i]:top[i] + 13, left[i]:left[i] + 13] += big[i]
    return (canvas - 0.25) / 0.35


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.conv3 = nn.Conv2d(32, 32, 3, padding=1)
        self.fc1 = nn.Linear(32 * 5 * 5, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.conv3(x)).flatten(1)
        return self.fc2(F.relu(self.fc1(x)))


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    raw = load_digits()
    glyphs = torch.tensor(raw.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(raw.target)
    perm = torch.randperm(len(labels), generator=gen)
    tr, va = perm[:1400], perm[1400:]
    val_x, val_y = place(glyphs[va], gen), labels[va]

    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    print(sum(p.numel() for p in model.parameters()), "parameters")
    for epoch in range(1, args.epochs + 1):
        model.train()
        total = hits = 0
        pool = tr.repeat(2)[torch.randperm(2 * len(tr), generator=gen)]
        for idx in pool.split(args.batch_size):
            x, y = place(glyphs[idx], gen), labels[idx]
            logits = model(x)
            loss = F.cross_entropy(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            hits += (logits.argmax(1) == y).sum().item()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            out = model(val_x)
            vl, va_acc = F.cross_entropy(out, val_y).item(), (out.argmax(1) == val_y).float().mean().item()
        print(f"[{epoch:02d}/{args.epochs}] loss {total / len(pool):.4f} acc {hits / len(pool):.3f} | val {vl:.4f} acc {va_acc:.3f}")


if __name__ == "__main__":
    main()
