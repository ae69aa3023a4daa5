"""Heat load of a district network: the load of an hour from the load of the day before and the weather."""
import math

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

LAGS = 24


def make_series(hours=2600, seed=5):
    rng = np.random.default_rng(seed)
    t = np.arange(hours)
    temp = 6 - 8 * np.cos(2 * math.pi * (t % 24 - 4) / 24) + np.convolve(rng.normal(0, 3, hours + 47), np.ones(48) / 7, "valid")
    people = 9 * np.exp(-((t % 24 - 7.5) ** 2) / 6) + 7 * np.exp(-((t % 24 - 19) ** 2) / 8)
    load = 60 - 1.4 * temp + people + rng.normal(0, 4.5, hours)
    return load.astype(np.float32), temp.astype(np.float32)


class HeatHours(Dataset):
    """x: the last LAGS hourly loads, the temperature of the hour, clock; y: the load of the hour"""

    def __init__(self, load, temp, first, last):
        self.load, self.temp = torch.from_numpy(load), torch.from_numpy(temp)
        self.hours = range(first + LAGS, last)

    def __len__(self):
        return len(self.hours)

    def __getitem__(self, i):
        t = self.hours[i]
        past = self.load[t - LAGS + 1:t + 1]
        clock = torch.tensor([math.sin(2 * math.pi * t / 24), math.cos(2 * math.pi * t / 24)])
        return torch.cat([past, self.temp[t:t + 1], clock]), self.load[t]


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(LAGS + 3, 48), nn.SiLU(), nn.Linear(48, 1))

    def forward(self, x):
        return self.body(x).squeeze(1)


def rmse(model, loader):
    model.eval()
    with torch.no_grad():
        errors = torch.cat([(model(x) - y) ** 2 for x, y in loader])
    return errors.mean().sqrt().item()


def main():
    torch.manual_seed(5)
    load, temp = make_series()
    cut = 2000
    load_mean, load_std = load[:cut].mean(), load[:cut].std()
    load = (load - load_mean) / load_std
    temp = (temp - temp[:cut].mean()) / temp[:cut].std()
    train = DataLoader(HeatHours(load, temp, 0, cut), batch_size=64, shuffle=True)
    val = DataLoader(HeatHours(load, temp, cut, len(load)), batch_size=256)

    model = Forecaster()
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    for epoch in range(8):
        model.train()
        total = 0.0
        for x, y in train:
            loss = nn.functional.mse_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"epoch {epoch + 1} train mse {total / len(train):.4f}  val rmse {rmse(model, val) * load_std:.2f} MW "
              f"(std of the load {load_std:.2f} MW)")


main()
