"""Predict the indoor temperature of a greenhouse one hour ahead from the last 24 h of station readings."""
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class Config:
    window: int = 24
    hidden: int = 48
    batch_size: int = 64
    lr: float = 2e-3
    epochs: int = 8
    seed: int = 3


def station_log(hours, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(hours)
    pressure = 1013 + np.convolve(rng.normal(0, 1, hours + 47), np.ones(48), 'valid')
    cloud = np.clip(0.5 + 0.4 * np.sin(t / 61) + 0.2 * rng.normal(size=hours), 0, 1)
    light = np.clip(np.sin((t % 24 - 6) / 12 * np.pi), 0, None) * (1 - 0.7 * cloud) * 64000
    co2 = 620 - light / 64000 * 180 + 15 * rng.normal(size=hours)
    outside = 12 + 6 * np.sin((t % 24 - 9) / 24 * 2 * np.pi) + 4 * np.sin(t / 80) + 0.5 * rng.normal(size=hours)
    humidity = np.clip(75 - 1.5 * (outside - 12) + 5 * rng.normal(size=hours), 15, 100)
    inside = np.zeros(hours)
    inside[0] = 18
    for k in range(1, hours):
        inside[k] = (inside[k - 1] + 0.12 * (outside[k - 1] - inside[k - 1]) + 2.2 * light[k - 1] / 64000
                     + 0.08 * (18 - inside[k - 1]) + 0.15 * rng.normal())
    feats = np.stack([pressure, light, co2, outside, humidity, inside], 1)
    return feats.astype("float32"), inside.astype("float32")


class Windows(Dataset):
    def __init__(self, feats, target, window):
        self.feats, self.target, self.window = torch.from_numpy(feats), torch.from_numpy(target), window

    def __len__(self):
        return len(self.feats) - self.window

    def __getitem__(self, i):
        return self.feats[i:i + self.window], self.target[i + self.window]


class Forecaster(nn.Module):
    def __init__(self, n_feats, hidden):
        super().__init__()
        self.gru = nn.GRU(n_feats, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.head(self.gru(x)[0][:, -1]).squeeze(1)


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.manual_seed(cfg.seed)
        feats, inside = station_log(5200, cfg.seed)
        cut = 4200
        target = (inside - inside[:cut].mean()) / inside[:cut].std()
        self.scale = float(inside[:cut].std())
        self.train_dl = DataLoader(Windows(feats[:cut], target[:cut], cfg.window), cfg.batch_size, shuffle=True)
        self.val_dl = DataLoader(Windows(feats[cut:], target[cut:], cfg.window), 256)
        self.model = Forecaster(feats.shape[1], cfg.hidden)
        self.opt = torch.optim.Adam(self.model.parameters(), lr=cfg.lr)

    def validate(self):
        self.model.eval()
        with torch.no_grad():
            err = torch.cat([self.model(x) - y for x, y in self.val_dl])
        return err.pow(2).mean().item(), err.abs().mean().item() * self.scale

    def fit(self):
        for epoch in range(self.cfg.epochs):
            self.model.train()
            total = 0.0
            for x, y in self.train_dl:
                loss = nn.functional.mse_loss(self.model(x), y)
                self.opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
                self.opt.step()
                total += loss.item()
            mse, mae = self.validate()
            print(f"epoch {epoch:2d}  train mse {total / len(self.train_dl):.4f}  val mse {mse:.4f}  val mae {mae:.2f} C")


if __name__ == "__main__":
    Trainer(Config()).fit()
