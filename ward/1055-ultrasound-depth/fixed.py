"""Estimate the depth of a reflector from an ultrasound trace."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def traces(n, g, length=64):
    depth = torch.rand(n, generator=g)
    t = torch.arange(length).float()
    at = 8 + 48 * depth
    gain = 0.6 + 0.8 * torch.rand(n, generator=g)
    echo = gain[:, None] * torch.exp(-((t - at[:, None]) / 2.5) ** 2) * torch.cos(0.9 * (t - at[:, None]))
    noise = 0.1 * torch.randn(n, length, generator=g)
    return (2.5 * (echo + noise))[:, None], (depth - 0.5) * 3.46


class DepthNet(nn.Module):
    def __init__(self, ch=12, hidden=64):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, ch, 7, stride=2, padding=3), nn.ReLU(),
            nn.Conv1d(ch, ch, 5, stride=2, padding=2), nn.ReLU(),
            nn.Flatten(),
        )
        self.regressor = nn.Sequential(
            nn.Linear(16 * ch, hidden), nn.BatchNorm1d(hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.BatchNorm1d(hidden), nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.regressor(self.features(x)).squeeze(-1)


def forever(x, y, batch_size):
    while True:
        for b in torch.randperm(len(x)).split(batch_size):
            if len(b) == batch_size:
                yield x[b], y[b]


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--steps", type=int, default=250)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--seed", type=int, default=13)
    return p.parse_args()


def main():
    args = parse()
    torch.manual_seed(args.seed)
    g = torch.Generator().manual_seed(args.seed)
    x, y = traces(2000, g)
    x_val, y_val = traces(400, g)
    model = DepthNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    stream = forever(x, y, args.batch_size)
    running = 0.0
    for step in range(1, args.steps + 1):
        model.train()
        xb, yb = next(stream)
        loss = F.mse_loss(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
        if step % 50 == 0:
            model.eval()
            with torch.no_grad():
                val = F.mse_loss(model(x_val), y_val).item()
            print(f"step {step:4d}  train mse {running / 50:.4f}  val mse {val:.4f}")
            running = 0.0


if __name__ == "__main__":
    main()
