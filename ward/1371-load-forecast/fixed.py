"""Day-ahead electricity load with an LSTM: three days of hours in, the next 24 hours out."""
import argparse
import math

import torch
from torch import nn


def load_curve(hours, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(hours).float()
    day, week = 2 * math.pi * t / 24, 2 * math.pi * t / 168
    weekend = ((t // 24) % 7 >= 5).float()
    temp = torch.zeros(hours)
    noise = torch.randn(hours, generator=g) * 0.12
    for i in range(1, hours):
        temp[i] = 0.985 * temp[i - 1] + noise[i]
    y = 1.0 + 0.5 * torch.sin(day - 1.9) + 0.25 * torch.sin(2 * day + 0.4) - 0.35 * weekend * (1 + 0.5 * torch.sin(day - 1.9))
    y = y + 0.12 * torch.sin(week) + 0.35 * temp.abs() + 0.05 * torch.randn(hours, generator=g)
    return (y - y.mean()) / y.std(), torch.stack([torch.sin(day), torch.cos(day), weekend], 1)


class Forecaster(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.lstm = nn.LSTM(4, hidden, batch_first=True)
        self.head = nn.Sequential(nn.Linear(hidden + 72, 64), nn.ReLU(), nn.Linear(64, 24))

    def forward(self, past, calendar_past, calendar_next):
        _, (h, _) = self.lstm(torch.cat([past.unsqueeze(2), calendar_past], 2))
        return past[:, -24:] + self.head(torch.cat([h[-1], calendar_next.flatten(1)], 1))


def cut(y, cal, starts, context=72):
    i = starts[:, None] + torch.arange(context)
    j = starts[:, None] + context + torch.arange(24)
    return y[i], cal[i], cal[j], y[j]


def main(args):
    torch.manual_seed(args.seed)
    y, cal = load_curve(24 * 7 * 40, seed=10)
    border = 24 * 7 * 32
    val = cut(y, cal, torch.arange(border, len(y) - 96, 12))

    model = Forecaster(args.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="min", factor=0.2, patience=args.patience)
    for epoch in range(args.epochs):
        model.train()
        train_mae = 0.0
        for _ in range(args.batches):
            past, cp, cn, target = cut(y, cal, torch.randint(0, border - 96, (args.batch_size,)))
            mae = (model(past, cp, cn) - target).abs().mean()
            optimizer.zero_grad()
            mae.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            train_mae += mae.item() / args.batches
        model.eval()
        with torch.no_grad():
            val_mae = (model(*val[:3]) - val[3]).abs().mean().item()
        scheduler.step(val_mae)
        print(f"epoch {epoch:2d}  train MAE {train_mae:.4f}  val MAE {val_mae:.4f}")
    naive = (val[0][:, -24:] - val[3]).abs().mean().item()
    print(f"yesterday's curve: {naive:.4f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--hidden", type=int, default=40)
    p.add_argument("--lr", type=float, default=1.5e-3)
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--batches", type=int, default=24)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--patience", type=int, default=2)
    p.add_argument("--seed", type=int, default=1)
    main(p.parse_args())
