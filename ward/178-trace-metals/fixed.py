"""Estimate the copper content of water samples from their emission spectrum.

    python train.py --epochs 10 --lr 4e-3
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def spectra(n, g):
    """Three copper lines on a drifting background; the content spans three orders of magnitude."""
    content = 10 ** (3 * torch.rand(n, generator=g) - 1)                  # mg/l
    blank = torch.rand(n, generator=g) < 0.01                             # blanks for quality control
    content[blank] = 0.0
    axis = torch.arange(64.0)
    lines = sum(a * torch.exp(-0.5 * ((axis - c) / 1.5) ** 2) for a, c in [(1.0, 14), (0.5, 33), (0.7, 50)])
    drift = torch.rand(n, 1, generator=g) * torch.cos(axis / 20 + 6 * torch.rand(n, 1, generator=g))
    signal = torch.log10(content + 0.1)[:, None] * lines + 0.5 * drift + 0.1 * torch.randn(n, 64, generator=g)
    return signal.unsqueeze(1), content


class SpectrumNet(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.conv1 = nn.Conv1d(1, channels, 7, padding=3, stride=2)
        self.conv2 = nn.Conv1d(channels, 2 * channels, 5, padding=2, stride=2)
        self.fc1 = nn.Linear(2 * channels * 16, 24)
        self.fc2 = nn.Linear(24, 1)

    def forward(self, x):
        x = F.gelu(self.conv1(x))
        x = F.gelu(self.conv2(x))
        return self.fc2(F.gelu(self.fc1(x.flatten(1))))[:, 0]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--batch", type=int, default=60)
    p.add_argument("--lr", type=float, default=2e-3)
    args = p.parse_args()
    torch.manual_seed(29)
    g = torch.Generator().manual_seed(29)
    x, content = spectra(3000, g)
    y = torch.log10(content + 0.1)
    x, xv, y, yv = x[:2400], x[2400:], y[:2400], y[2400:]
    model = SpectrumNet()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    step = 0
    for epoch in range(args.epochs):
        model.train()
        for idx in torch.randperm(len(y)).split(args.batch):
            opt.zero_grad()
            loss = F.mse_loss(model(x[idx]), y[idx])
            loss.backward()
            opt.step()
            step += 1
            if step % 20 == 0:
                print(f"step {step:4d} loss {loss.item():.4f}")
        model.eval()
        with torch.no_grad():
            print(f"epoch {epoch} val {F.mse_loss(model(xv), yv).item():.4f}")


if __name__ == "__main__":
    main()
