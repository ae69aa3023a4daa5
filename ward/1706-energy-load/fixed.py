"""Day-ahead electricity load from the last two days, GRU encoder."""
import math

import numpy as np
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, TensorDataset


def simulate_load(days=330, seed=4):
    rng = np.random.default_rng(seed)
    t = np.arange(days * 24)
    hour, day = t % 24, t // 24
    base = 1.0 + 0.35 * np.sin((hour - 8) / 24 * 2 * math.pi) + 0.2 * np.sin((hour - 4) / 12 * 2 * math.pi)
    season = 0.25 * np.cos(day / 365 * 2 * math.pi)
    weekend = -0.3 * ((day % 7) >= 5)
    drift = np.zeros(len(t))
    for i in range(1, len(t)):
        drift[i] = 0.97 * drift[i - 1] + 0.02 * rng.normal()
    load = base * (1 + weekend) + season + drift + 0.03 * rng.normal(size=len(t))
    return ((load - load.mean()) / load.std()).astype("float32"), hour, day


def make_windows(load, hour, day, past=48, ahead=24, stride=8):
    X, Y = [], []
    clock = np.stack([np.sin(hour / 24 * 2 * np.pi), np.cos(hour / 24 * 2 * np.pi),
                      ((day % 7) >= 5).astype(float), (((day + 1) % 7) >= 5).astype(float)], 1).astype("float32")
    for i in range(0, len(load) - past - ahead, stride):
        X.append(np.concatenate([load[i:i + past, None], clock[i:i + past]], 1))
        Y.append(load[i + past:i + past + ahead])
    return torch.tensor(np.stack(X)), torch.tensor(np.stack(Y))


class LoadForecaster(nn.Module):
    def __init__(self, n_in=5, hidden=32, horizon=24):
        super().__init__()
        self.rnn = nn.GRU(n_in, hidden, batch_first=True)
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, horizon))

    def forward(self, x):
        _, h = self.rnn(x)
        return self.head(h[-1])


def train_epoch(model, loader, opt, loss_fn):
    model.train()
    losses = []
    for x, y in loader:
        opt.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        losses.append(loss.item())
    return float(np.mean(losses))


@torch.no_grad()
def val_epoch(model, loader, loss_fn):
    model.eval()
    return float(np.mean([loss_fn(model(x), y).item() for x, y in loader]))


def main():
    torch.manual_seed(4)
    X, Y = make_windows(*simulate_load())
    cut = int(0.8 * len(X))
    train_loader = DataLoader(TensorDataset(X[:cut], Y[:cut]), batch_size=32, shuffle=True)
    val_loader = DataLoader(TensorDataset(X[cut + 12:], Y[cut + 12:]), batch_size=512)
    model = LoadForecaster()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = ReduceLROnPlateau(opt, mode="min", factor=0.5, patience=4)
    loss_fn = nn.MSELoss()
    for epoch in range(1, 25):
        tr = train_epoch(model, train_loader, opt, loss_fn)
        va = val_epoch(model, val_loader, loss_fn)
        scheduler.step(va)
        if epoch % 2 == 0:
            print(f"epoch {epoch:02d}  train mse {tr:.4f}  val mse {va:.4f}  lr {opt.param_groups[0]['lr']:.1e}")


if __name__ == "__main__":
    main()
