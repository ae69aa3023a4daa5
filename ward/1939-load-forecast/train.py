"""Energy meter: predict the next hour from the last day with an LSTM (SGD, as in the paper)."""
import argparse
import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def load_curve(days=160, per_day=24, seed=2):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(days * per_day).float()
    daily = torch.sin(2 * math.pi * t / per_day) + 0.5 * torch.sin(4 * math.pi * t / per_day + 0.7)
    weekly = 0.6 * (((t // per_day) % 7) >= 5).float()
    drift, level = [], 0.0
    for e in 0.12 * torch.randn(len(t), generator=g):
        level = 0.95 * level + e.item()
        drift.append(level)
    load = daily * (1 - weekly) + torch.tensor(drift)
    return (load - load.mean()) / load.std()


def windows(series, span):
    x = series.unfold(0, span + 1, 1)
    return x[:, :-1].unsqueeze(-1), x[:, -1:]


class Forecaster(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1])


class Trainer:
    def __init__(self, args):
        torch.manual_seed(args.seed)
        series = load_curve()
        cut = int(0.8 * len(series))
        self.train = DataLoader(TensorDataset(*windows(series[:cut], args.span)), batch_size=32, shuffle=True)
        self.val = DataLoader(TensorDataset(*windows(series[cut:], args.span)), batch_size=256)
        self.model = Forecaster(args.hidden)
        self.opt = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.9)
        self.clip, self.epochs = args.clip, args.epochs
        self.mse = nn.MSELoss()

    def step(self, x, y):
        loss = self.mse(self.model(x), y)
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.opt.step()
        return loss.item()

    def run(self):
        for epoch in range(self.epochs):
            self.model.train()
            losses = [self.step(x, y) for x, y in self.train]
            self.model.eval()
            with torch.no_grad():
                v = sum(self.mse(self.model(x), y).item() * len(y) for x, y in self.val) / len(self.val.dataset)
            print(f"epoch {epoch + 1:2d}  train {sum(losses) / len(losses):.4f}  val {v:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--span", type=int, default=24)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.03)
    parser.add_argument("--clip", type=float, default=0.005)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    Trainer(parser.parse_args()).run()
