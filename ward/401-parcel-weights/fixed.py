import argparse
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn, optim


@dataclass
class Config:
    epochs: int = 18
    batch_size: int = 100
    max_lr: float = 4e-3
    weight_decay: float = 1e-4
    hidden: int = 64
    seed: int = 8


def parcels(n, rng):
    """length, width, height, fill level, paper/plastic/foam share -> weight (standardised)"""
    dims = rng.uniform(0.5, 1.5, (n, 3))
    fill = rng.uniform(0.2, 1.0, n)
    mix = rng.dirichlet([1.0, 1.0, 1.0], n)
    density = mix @ np.array([1.2, 0.7, 0.1])
    weight = dims.prod(1) * fill * density * 4 + 0.05 * rng.standard_normal(n)
    x = np.column_stack([dims, fill, mix])
    return x.astype(np.float32), weight.astype(np.float32)


def scale(train, *others):
    mean, std = train.mean(0), train.std(0)
    return [torch.from_numpy((a - mean) / std) for a in (train, *others)]


class Net(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.a = nn.Linear(7, hidden)
        self.b = nn.Linear(hidden, hidden)
        self.c = nn.Linear(hidden, 1)

    def forward(self, x):
        x = F.silu(self.a(x))
        x = x + F.silu(self.b(x))
        return self.c(x).squeeze(1)


def run(cfg):
    torch.manual_seed(cfg.seed)
    rng = np.random.default_rng(cfg.seed)
    x, y = parcels(2500, rng)
    x_train, x_val = scale(x[:2000], x[2000:])
    y_train, y_val = scale(y[:2000], y[2000:])

    net = Net(cfg.hidden)
    optimizer = optim.AdamW(net.parameters(), lr=cfg.max_lr, weight_decay=cfg.weight_decay)
    steps_per_epoch = len(x_train) // cfg.batch_size
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=cfg.max_lr, epochs=cfg.epochs, steps_per_epoch=steps_per_epoch)

    for epoch in range(cfg.epochs):
        net.train()
        order = torch.randperm(len(x_train))
        losses = []
        for i in range(steps_per_epoch):
            pick = order[i * cfg.batch_size:(i + 1) * cfg.batch_size]
            loss = F.mse_loss(net(x_train[pick]), y_train[pick])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        net.eval()
        with torch.no_grad():
            val = F.mse_loss(net(x_val), y_val).item()
        print(f"[{epoch + 1:02d}/{cfg.epochs}] mse {np.mean(losses):.4f} val {val:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=Config.epochs)
    parser.add_argument("--max-lr", type=float, default=Config.max_lr)
    args = parser.parse_args()
    run(Config(epochs=args.epochs, max_lr=args.max_lr))
