"""Estimate bearing wear from short vibration records (1-d CNN regression)."""
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn


@dataclass
class Config:
    records: int = 2400
    length: int = 128
    channels: int = 16
    batch: int = 32
    epochs: int = 14
    lr: float = 5e-4
    seed: int = 31


def record_campaign(cfg):
    """Acceleration records [g] of the test rig with the wear depth measured afterwards [0..1]."""
    rng = np.random.default_rng(cfg.seed)
    t = np.arange(cfg.length) / cfg.length
    wear = rng.uniform(0, 1, cfg.records)
    rpm = rng.uniform(7, 9, cfg.records)
    phase = rng.uniform(0, 2 * np.pi, (cfg.records, 2))
    shaft = np.sin(2 * np.pi * rpm[:, None] * t + phase[:, :1])
    defect = np.sin(2 * np.pi * 3.6 * rpm[:, None] * t + phase[:, 1:])
    signal = 0.8 * shaft + (0.1 + 1.3 * wear[:, None]) * defect + 0.35 * rng.normal(size=(cfg.records, cfg.length))
    for i in rng.choice(cfg.records, int(0.01 * cfg.records), replace=False):
        start = rng.integers(0, cfg.length - 4)
        signal[i, start:start + rng.integers(1, 4)] = -9999
    return signal.astype(np.float32), wear.astype(np.float32)


def prepare(cfg):
    signal, wear = record_campaign(cfg)
    x = torch.from_numpy(signal).unsqueeze(1)
    y = torch.from_numpy((wear - wear.mean()) / wear.std())
    n = int(0.8 * len(y))
    return x[:n], y[:n], x[n:], y[n:]


class WearNet(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, c, 9, padding=4), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(c, c, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(c, c, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool1d(4),
            nn.Flatten(), nn.Linear(4 * c, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x)[:, 0]


def main(cfg):
    torch.manual_seed(cfg.seed)
    x_train, y_train, x_val, y_val = prepare(cfg)
    model = WearNet(cfg.channels)
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    mse = nn.MSELoss()
    step = 0
    for epoch in range(cfg.epochs):
        model.train()
        history = []
        for idx in torch.randperm(len(y_train)).split(cfg.batch):
            loss = mse(model(x_train[idx]), y_train[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            history.append(loss.item())
            step += 1
        model.eval()
        with torch.no_grad():
            val = mse(model(x_val), y_val).item()
        print(f"epoch {epoch:2d} step {step:4d} train mean {np.mean(history):.4g} max {np.max(history):.4g} val {val:.4g}")


if __name__ == "__main__":
    main(Config())
