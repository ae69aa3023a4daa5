"""Predict the electric load of an office building from the last 24 hours of weather."""
import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--window", type=int, default=24)
parser.add_argument("--hidden", type=int, default=32)
parser.add_argument("--epochs", type=int, default=14)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--seed", type=int, default=5)
args = parser.parse_args()


def station_log(hours, rng):
    """Hourly log: air temperature [K], pressure [Pa], relative humidity [%], irradiance [W/m2]."""
    t = np.arange(hours)
    front = np.convolve(rng.normal(size=hours + 71), np.ones(72) / 72, mode="valid") * 30
    temp = 288 + 5 * np.sin(2 * np.pi * (t - 9) / 24) + 2 * front + rng.normal(0, 0.4, hours)
    pressure = 101325 - 250 * front + rng.normal(0, 30, hours)
    humidity = np.clip(65 - 2.5 * (temp - 288) + rng.normal(0, 4, hours), 10, 100)
    sun = np.clip(np.sin(2 * np.pi * (t - 6) / 24), 0, None) * 700 * rng.uniform(0.5, 1, hours)
    inertia = np.convolve(np.concatenate([np.full(11, temp[0]), temp]), np.ones(12) / 12, mode="valid")
    load = (120 + 6 * np.abs(inertia - 291) + 0.02 * sun + 15 * ((t % 24 > 7) & (t % 24 < 19))
            + rng.normal(0, 3, hours))
    return np.stack([temp, pressure, humidity, sun], 1).astype(np.float32), load.astype(np.float32)


def make_windows(weather, load, window):
    idx = np.arange(window)[None, :] + np.arange(len(load) - window)[:, None]
    x = torch.tensor(weather[idx])
    y = torch.tensor(load[window - 1:-1])
    return x, (y - y.mean()) / y.std()


class LoadForecaster(nn.Module):
    def __init__(self, n_features, hidden):
        super().__init__()
        self.lstm = nn.LSTM(n_features, hidden, batch_first=True)
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1]).squeeze(-1)


def evaluate(model, loader):
    model.eval()
    se = n = 0
    with torch.no_grad():
        for x, y in loader:
            se += ((model(x) - y) ** 2).sum().item()
            n += len(y)
    return se / n


def main():
    torch.manual_seed(args.seed)
    weather, load = station_log(4000, np.random.default_rng(args.seed))
    x, y = make_windows(weather, load, args.window)
    cut = int(0.8 * len(y))
    train_loader = DataLoader(TensorDataset(x[:cut], y[:cut]), batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(TensorDataset(x[cut + args.window:], y[cut + args.window:]), batch_size=256)

    model = LoadForecaster(x.shape[-1], args.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    criterion = nn.MSELoss()
    for epoch in range(1, args.epochs + 1):
        model.train()
        running = 0.0
        for xb, yb in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(xb), yb)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            running += loss.item() * len(yb)
        print(f"epoch {epoch:2d}  train mse {running / cut:.4f}  val mse {evaluate(model, val_loader):.4f}")


if __name__ == "__main__":
    main()
