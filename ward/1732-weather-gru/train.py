import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    history: int = 24       # hours the network sees
    horizon: int = 6        # hours ahead
    hidden: int = 32
    batch_size: int = 64
    epochs: int = 9
    lr: float = 3e-3
    seed: int = 8


def station(hours, seed):
    """Hourly log of a weather station: pressure (Pa), temperature (K), humidity (%), wind (m/s), sun (W/m2)."""
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(hours, dtype=torch.float32)
    noise = torch.randn(hours, 4, generator=g)
    front = torch.zeros(hours)
    for i in range(1, hours):
        front[i] = 0.97 * front[i - 1] + 0.24 * noise[i, 0]
    sun = (torch.sin((t % 24 - 6) / 24 * 2 * math.pi).clamp(min=0) * 800) * (0.75 - 0.25 * torch.tanh(front))
    temp = torch.zeros(hours)
    temp[0] = 284
    for i in range(1, hours):
        temp[i] = temp[i - 1] + 0.06 * (281 + 4 * front[i - 1] - temp[i - 1]) + 0.0022 * sun[i - 1] - 0.2 + 0.1 * noise[i, 1]
    pressure = 101325 - 600 * front + 40 * noise[:, 2]
    humidity = (75 - 1.5 * (temp - 284) + 6 * front + 2 * noise[:, 3]).clamp(10, 100)
    wind = (3 + 2 * front.abs() + 0.5 * noise[:, 1]).clamp(min=0)
    return torch.stack([pressure, temp, humidity, wind, sun], dim=1)


def windows(log, cfg):
    x = log.unfold(0, cfg.history, 1).transpose(1, 2)
    last = torch.arange(cfg.history - 1, cfg.history - 1 + len(x))
    keep = last + cfg.horizon < len(log)
    x, last = x[keep], last[keep]
    change = log[last + cfg.horizon, 1] - log[last, 1]
    return x.contiguous(), (change / 3.0).unsqueeze(1)


class Forecaster(nn.Module):
    def __init__(self, n_features, hidden):
        super().__init__()
        self.gru = nn.GRU(n_features, hidden, batch_first=True)
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        _, h = self.gru(x)
        return self.head(h[-1])


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.manual_seed(cfg.seed)
        log = station(5200, cfg.seed)
        past, recent = log[:4200], log[4200:]
        self.train_dl = DataLoader(TensorDataset(*windows(past, cfg)), batch_size=cfg.batch_size, shuffle=True)
        self.val_dl = DataLoader(TensorDataset(*windows(recent, cfg)), batch_size=512)
        self.model = Forecaster(log.shape[1], cfg.hidden)
        self.opt = torch.optim.Adam(self.model.parameters(), lr=cfg.lr)
        self.loss = nn.MSELoss()

    def epoch(self):
        self.model.train()
        total = 0.0
        for x, y in self.train_dl:
            self.opt.zero_grad()
            loss = self.loss(self.model(x), y)
            loss.backward()
            self.opt.step()
            total += loss.item() * len(x)
        return total / len(self.train_dl.dataset)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        pred, true = zip(*[(self.model(x), y) for x, y in self.val_dl])
        pred, true = torch.cat(pred), torch.cat(true)
        mse = self.loss(pred, true).item()
        return mse, 1 - mse / true.var().item()

    def fit(self):
        for n in range(self.cfg.epochs):
            train = self.epoch()
            val, r2 = self.validate()
            print(f"[{n + 1:2d}/{self.cfg.epochs}] train mse {train:.4f} | val mse {val:.4f} | val R2 {r2:.3f}")


Trainer(Config()).fit()
