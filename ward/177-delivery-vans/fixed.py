"""Electricity use per kilometre of delivery vans, from trip records."""
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    hidden: int = 32
    lr: float = 3e-3
    batch_size: int = 64
    epochs: int = 8
    seed: int = 12


def read_trips(n, seed):
    """(load in t, wind in m/s, outside temperature in C, share of city streets), energy in kWh, distance in km"""
    g = torch.Generator().manual_seed(seed)
    load = 1.5 * torch.rand(n, generator=g)
    wind = 4 + 2 * torch.randn(n, generator=g)
    temp = 12 + 7 * torch.randn(n, generator=g)
    city = torch.rand(n, generator=g)
    km = torch.round(-18 * torch.log(1 - torch.rand(n, generator=g)) * 10) / 10
    per_km = 0.22 + 0.06 * load + 0.0016 * wind ** 2 + 0.0003 * (temp - 20) ** 2 - 0.04 * city
    energy = per_km * km.clamp(min=0.05) * (1 + 0.05 * torch.randn(n, generator=g))
    return torch.stack([load, wind, temp, city], 1), energy, km


class VanModel(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


class Experiment:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.manual_seed(cfg.seed)
        trips, energy, km = read_trips(3600, cfg.seed)
        trips, energy, km = (column[km > 0] for column in (trips, energy, km))
        trips = (trips - trips[:3000].mean(0)) / trips[:3000].std(0)
        use = energy / km
        use = use.mul(100).sub(30).div(8)           # kWh per 100 km, around the fleet's usual 30 +- 8
        self.train_dl = DataLoader(TensorDataset(trips[:3000], use[:3000]), cfg.batch_size, shuffle=True)
        self.val_dl = DataLoader(TensorDataset(trips[3000:], use[3000:]), 300)
        self.model = VanModel(cfg.hidden)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr, weight_decay=1e-3)
        self.criterion = nn.SmoothL1Loss()

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for x, y in self.train_dl:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(self.train_dl)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        return sum(self.criterion(self.model(x), y).item() for x, y in self.val_dl) / len(self.val_dl)

    def run(self):
        for epoch in range(1, self.cfg.epochs + 1):
            train = self.train_epoch()
            print(f"epoch {epoch} train={train:.4f} val={self.validate():.4f}")


if __name__ == "__main__":
    Experiment(Config()).run()
