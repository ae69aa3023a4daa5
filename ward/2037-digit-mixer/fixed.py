import argparse

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset


class MixerBlock(nn.Module):
    """Mix over the eight rows of the picture, then over channels."""

    def __init__(self, tokens, dim, drop):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.token_mlp = nn.Sequential(nn.Linear(tokens, 32), nn.GELU(), nn.Dropout(drop), nn.Linear(32, tokens))
        self.channel_mlp = nn.Sequential(nn.Linear(dim, 64), nn.GELU(), nn.Dropout(drop), nn.Linear(64, dim))

    def forward(self, x):
        x = x + self.token_mlp(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channel_mlp(self.norm2(x))


class DigitMixer(nn.Module):
    def __init__(self, dim=32, depth=2, drop=0.1):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(8, dim), nn.Dropout(drop))
        self.blocks = nn.Sequential(*[MixerBlock(8, dim, drop) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Sequential(nn.Dropout(drop), nn.Linear(dim, 10))

    def forward(self, rows):
        h = self.norm(self.blocks(self.stem(rows)))
        return self.head(h.mean(dim=1))


def parse():
    p = argparse.ArgumentParser(description="MLP-Mixer on 8x8 digits")
    p.add_argument("--dim", type=int, default=32)
    p.add_argument("--drop", type=float, default=0.1)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--epochs", type=int, default=25)
    return p.parse_args()


def loop(model, loader, optimizer=None):
    loss_sum, hits, n = 0.0, 0, 0
    model.train(optimizer is not None)
    with torch.set_grad_enabled(optimizer is not None):
        for x, y in loader:
            logits = model(x)
            loss = nn.functional.cross_entropy(logits, y)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * len(y)
            hits += (logits.argmax(1) == y).sum().item()
            n += len(y)
    return loss_sum / n, hits / n


def main():
    args = parse()
    torch.manual_seed(14)
    d = load_digits()
    X = torch.tensor(d.images, dtype=torch.float32) / 8 - 1
    y = torch.tensor(d.target)
    Xt, Xv, yt, yv = train_test_split(X, y, test_size=0.3, random_state=1, stratify=y)
    train_dl = DataLoader(TensorDataset(Xt, yt), batch_size=32, shuffle=True)
    val_dl = DataLoader(TensorDataset(Xv, yv), batch_size=270)
    model = DigitMixer(dim=args.dim, drop=args.drop)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    for epoch in range(args.epochs):
        tl, ta = loop(model, train_dl, optimizer)
        sched.step()
        vl, va = loop(model, val_dl)
        print(f"{epoch + 1:2d}  train loss {tl:.4f} acc {ta:.3f}   val loss {vl:.4f} acc {va:.3f}")


main()
