"""Next-hour heat demand of a district from the last 24 hours (dilated causal convolutions)."""
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn as nn


@dataclass
class Hyper:
    window: int = 24
    hidden: int = 24
    layers: int = 3
    batch: int = 64
    lr: float = 0.001
    epochs: int = 6
    features: list = field(default_factory=lambda: ["demand", "outside", "hour_sin", "hour_cos"])


def simulate(hours, seed):
    rng = np.random.default_rng(seed)
    h = np.arange(hours)
    outside = 6 + 7 * np.sin(2 * np.pi * h / 2400) + 4 * np.sin(2 * np.pi * (h - 9) / 24) + np.cumsum(rng.normal(0, 0.15, hours))
    morning = np.exp(-((h % 24 - 7) / 2.0) ** 2) + 0.7 * np.exp(-((h % 24 - 19) / 2.5) ** 2)
    demand = 50 - 1.6 * outside + 14 * morning + rng.normal(0, 1.2, hours)
    return np.stack([demand, outside, np.sin(2 * np.pi * h / 24), np.cos(2 * np.pi * h / 24)], axis=1).astype(np.float32)


def windows(table, hp):
    x = np.stack([table[i:i + hp.window] for i in range(len(table) - hp.window)])
    y = table[hp.window:, 0]
    return torch.from_numpy(x), torch.from_numpy(y)


class CausalBlock(nn.Module):
    def __init__(self, channels, dilation):
        super().__init__()
        self.pad = nn.ConstantPad1d((2 * dilation, 0), 0.0)
        self.conv = nn.Conv1d(channels, channels, 3, dilation=dilation)

    def forward(self, x):
        return x + torch.relu(self.conv(self.pad(x)))


class HeatTCN(nn.Module):
    def __init__(self, hp):
        super().__init__()
        self.lift = nn.Conv1d(len(hp.features), hp.hidden, 1)
        self.blocks = nn.Sequential(*[CausalBlock(hp.hidden, 2 ** k) for k in range(hp.layers)])
        self.out = nn.Linear(hp.hidden, 1)

    def forward(self, x):
        h = self.blocks(self.lift(x.transpose(1, 2)))
        return self.out(h[:, :, -1]).squeeze(-1)


def main():
    hp = Hyper()
    torch.manual_seed(40)
    table = simulate(3000, seed=40)
    split = 2400
    mean, std = table[:split].mean(0), table[:split].std(0)
    table = (table - mean) / std
    x, y = windows(table, hp)
    cut = split - hp.window
    x_train, y_train, x_val, y_val = x[:cut], y[:cut], x[cut:], y[cut:]
    model = HeatTCN(hp)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=hp.lr)
    for epoch in range(hp.epochs):
        model.train()
        losses = []
        for idx in torch.randperm(len(x_train)).split(hp.batch):
            optimizer.zero_grad()
            loss = criterion(model(x_train[idx]), y_train[idx])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            val = criterion(model(x_val), y_val).item()
        print(f"epoch {epoch + 1} | train mse {np.mean(losses):.4f} (first {losses[0]:.3f}, last {losses[-1]:.3f}) | val mse {val:.4f}")


if __name__ == "__main__":
    main()
