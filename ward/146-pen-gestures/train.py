"""Pen gesture recogniser.

usage: train.py [--epochs 6] [--hidden 40] [--lr 5e-3]
"""
import argparse
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

GESTURES = ["circle", "zigzag", "line", "spiral", "hook", "wave"]


def draw(name, n, g, steps=20):
    t = torch.linspace(0, 1, steps).repeat(n, 1)
    a = 2 * math.pi
    shape = {
        "circle": lambda: (torch.cos(a * t), torch.sin(a * t)),
        "zigzag": lambda: (2 * t - 1, 2 * ((3 * t) % 1 - 0.5).abs() * 2 - 1),
        "line": lambda: (2 * t - 1, 2 * t - 1),
        "spiral": lambda: (t * torch.cos(2 * a * t), t * torch.sin(2 * a * t)),
        "hook": lambda: (torch.where(t < 0.6, 2 * t - 1, 0.2 - (t - 0.6)), torch.where(t < 0.6, 0 * t, 2 * (t - 0.6))),
        "wave": lambda: (2 * t - 1, torch.sin(a * t)),
    }[name]()
    xy = torch.stack(shape, 2)
    turn = 0.5 * torch.randn(n, generator=g)
    rot = torch.stack([torch.stack([turn.cos(), -turn.sin()], 1), torch.stack([turn.sin(), turn.cos()], 1)], 1)
    xy = xy @ rot * (0.8 + 0.4 * torch.rand(n, 1, 1, generator=g))
    return xy + 0.15 * torch.randn(n, steps, 2, generator=g)


def gestures(n_each, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.cat([draw(name, n_each, g) for name in GESTURES])
    y = torch.arange(len(GESTURES)).repeat_interleave(n_each)
    return TensorDataset(x, y)


class GestureNet(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.gru = nn.GRU(2, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, len(GESTURES))

    def forward(self, x):
        _, h = self.gru(x)
        return self.fc(h[-1])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--hidden", type=int, default=40)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--batch-size", type=int, default=50)
    args = ap.parse_args()

    torch.manual_seed(0)
    train_dl = DataLoader(gestures(200, seed=1), batch_size=args.batch_size, shuffle=False)
    val_dl = DataLoader(gestures(60, seed=2), batch_size=120, shuffle=False)
    model = GestureNet(args.hidden)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        model.train()
        train_loss = 0.0
        for x, y in train_dl:
            opt.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            opt.step()
            train_loss += loss.item() / len(train_dl)
        model.eval()
        val_loss = correct = 0.0
        with torch.no_grad():
            for x, y in val_dl:
                out = model(x)
                val_loss += loss_fn(out, y).item() / len(val_dl)
                correct += (out.argmax(1) == y).sum().item()
        print(f"epoch {epoch + 1} train_loss={train_loss:.4f} val_loss={val_loss:.4f} val_acc={correct / 360:.3f}")


if __name__ == "__main__":
    main()
