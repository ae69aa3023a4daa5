"""Density model of two-dimensional points with affine coupling layers."""
import argparse
import math

import torch
import torch.nn as nn


class Coupling(nn.Module):
    def __init__(self, flip, hidden=48):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 2))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        a, b = x[:, :1], x[:, 1:]
        if self.flip:
            a, b = b, a
        scale, shift = self.net(a).chunk(2, dim=1)
        scale = 2.5 * torch.tanh(scale / 2.5)
        b = b * scale.exp() + shift
        out = torch.cat([b, a] if self.flip else [a, b], dim=1)
        return out, scale.squeeze(1)


class Flow(nn.Module):
    def __init__(self, layers=4):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(flip=i % 2 == 1) for i in range(layers))

    def log_prob(self, x):
        log_det = 0.0
        for layer in self.layers:
            x, d = layer(x)
            log_det = log_det + d
        return log_det - 0.5 * (x ** 2).sum(1) - math.log(2 * math.pi)


def points(n, seed):
    g = torch.Generator().manual_seed(seed)
    a, b = torch.randn(2, n, generator=g)
    return 0.4 * torch.stack([a, 0.5 * a ** 2 - 0.5 + 0.2 * b], dim=1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=24)
    ap.add_argument("--batch", type=int, default=100)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()
    torch.manual_seed(40)
    train, val = points(5000, 1), points(2000, 2)
    flow = Flow()
    opt = torch.optim.Adam(flow.parameters(), lr=args.lr)
    steps = args.epochs * math.ceil(len(train) / args.batch)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=args.lr, total_steps=steps, pct_start=0.15)
    for epoch in range(args.epochs):
        flow.train()
        total = 0.0
        for idx in torch.randperm(len(train)).split(args.batch):
            loss = -flow.log_prob(train[idx]).mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
            opt.step()
            sched.step()
            total += loss.item() * len(idx)
        flow.eval()
        with torch.no_grad():
            val_nll = -flow.log_prob(val).mean().item()
        if epoch % 2 == 1:
            print(f"epoch {epoch + 1:2d}  train nll {total / len(train):.4f}  val nll {val_nll:.4f}")


if __name__ == "__main__":
    main()
