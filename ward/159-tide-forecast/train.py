import argparse
import math

import torch
from torch import nn


def tide(n, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(n).float()
    level = torch.sin(2 * math.pi * t / 12.4) + 0.4 * torch.sin(2 * math.pi * t / 24 + 1) + 0.25 * torch.sin(2 * math.pi * t / 77)
    return level + 0.1 * torch.randn(n, generator=g)


def windows(series, length):
    w = series.unfold(0, length + 1, 1)
    return w[:, :-1].unsqueeze(-1), w[:, -1]


class Forecaster(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.head(out[:, -1]).squeeze(-1)


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--optimizer", choices=["sgd", "adam", "rmsprop"], default="rmsprop")
    p.add_argument("--lr", type=float, default=0.3)
    p.add_argument("--momentum", type=float, default=0.9)
    p.add_argument("--hidden", type=int, default=24)
    p.add_argument("--window", type=int, default=16)
    p.add_argument("--epochs", type=int, default=9)
    return p.parse_args()


def main():
    args = parse()
    torch.manual_seed(6)
    x, y = windows(tide(1200, seed=1), args.window)
    xv, yv = windows(tide(500, seed=2), args.window)
    model = Forecaster(args.hidden)
    if args.optimizer == "sgd":
        opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)
    else:
        opt = {"adam": torch.optim.Adam, "rmsprop": torch.optim.RMSprop}[args.optimizer](model.parameters(), lr=args.lr)
    loss_fn = nn.MSELoss()
    for epoch in range(args.epochs):
        model.train()
        losses = []
        for idx in torch.randperm(len(y)).split(50):
            opt.zero_grad()
            loss = loss_fn(model(x[idx]), y[idx])
            loss.backward()
            opt.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            val = loss_fn(model(xv), yv).item()
        print(f"{epoch:2d}: mse {sum(losses) / len(losses):.4f} (max {max(losses):.3f})  val {val:.4f}")


if __name__ == "__main__":
    main()
