"""Heart-beat classification from single-lead windows with a small 1-D residual CNN."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

RHYTHMS = ["normal", "pvc", "st-elevation", "t-inversion", "low-voltage-r"]
LENGTH = 64


def bump(t, centre, width):
    return torch.exp(-0.5 * ((t - centre) / width) ** 2)


def beats(n, gen):
    t = torch.linspace(0, 1, LENGTH)
    y = torch.randint(0, len(RHYTHMS), (n,), generator=gen)
    jitter = lambda s: s * torch.randn(n, 1, generator=gen)
    shift = jitter(0.05)
    p = 0.15 * bump(t, 0.22 + shift, 0.03)
    qrs_w = torch.where(y == 1, 0.045, 0.018)[:, None]
    qrs_a = torch.where(y == 4, 0.55, 1.0)[:, None] * (1 + jitter(0.15))
    qrs = qrs_a * bump(t, 0.42 + shift, qrs_w) - 0.25 * bump(t, 0.47 + shift, 0.015)
    st = torch.where(y == 2, 0.22, 0.0)[:, None] * bump(t, 0.57 + shift, 0.06)
    t_a = torch.where(y == 3, -0.3, 0.3)[:, None] * (1 + jitter(0.2))
    wave = p + qrs + st + t_a * bump(t, 0.72 + shift, 0.05)
    wander = 0.1 * torch.sin(2 * math.pi * (t + torch.rand(n, 1, generator=gen)))
    x = wave + wander + 0.08 * torch.randn(n, LENGTH, generator=gen)
    return (x / 0.3).unsqueeze(1), y


class ResBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv1 = nn.Conv1d(ch, ch, 5, padding=2)
        self.conv2 = nn.Conv1d(ch, ch, 5, padding=2)
        self.gn1 = nn.GroupNorm(4, ch)
        self.gn2 = nn.GroupNorm(4, ch)

    def forward(self, x):
        h = F.relu(self.gn1(self.conv1(x)))
        return F.relu(x + self.gn2(self.conv2(h)))


class BeatNet(nn.Module):
    def __init__(self, ch=16, depth=3, n_classes=5):
        super().__init__()
        self.stem = nn.Conv1d(1, ch, 1)
        self.blocks = [ResBlock(ch) for _ in range(depth)]
        self.pool = nn.MaxPool1d(2)
        self.fc = nn.Linear(ch, n_classes)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = self.pool(block(x))
        return self.fc(x.mean(-1))


def main(args):
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 1)
    xtr, ytr = beats(2400, gen)
    xva, yva = beats(600, gen)
    net = BeatNet(args.channels)
    opt = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=1e-2)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs)
    for epoch in range(args.epochs):
        net.train()
        tot = 0.0
        for idx in torch.randperm(len(ytr)).split(args.batch_size):
            loss = F.cross_entropy(net(xtr[idx]), ytr[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(idx)
        sched.step()
        net.eval()
        with torch.no_grad():
            out = net(xva)
            vl, va = F.cross_entropy(out, yva).item(), (out.argmax(1) == yva).float().mean().item()
        print(f"{epoch + 1:2d}/{args.epochs} train {tot / len(ytr):.4f} val {vl:.4f} acc {va:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=48)
    parser.add_argument("--channels", type=int, default=16)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=6)
    main(parser.parse_args())
