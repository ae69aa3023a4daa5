"""Next-hour load of a small grid from its own past and the calendar."""
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn


@dataclass
class Config:
    hours: int = 9000
    n_lags: int = 24
    hidden: int = 48
    batch: int = 64
    epochs: int = 12
    lr: float = 1e-3
    seed: int = 21


def simulate(cfg):
    rng = np.random.default_rng(cfg.seed)
    t = np.arange(cfg.hours)
    noise = np.zeros(cfg.hours)
    for i in range(1, cfg.hours):
        noise[i] = 0.7 * noise[i - 1] + rng.normal(0, 22)
    weekend = (t // 24) % 7 >= 5
    return 800 + 180 * np.sin(2 * np.pi * (t % 24 - 8) / 24) - 90 * weekend + 35 * np.sin(4 * np.pi * t / 24) + noise


def make_table(load, cfg):
    """One row per hour: the last n_lags loads, hour of day, weekend flag -> load of that hour."""
    t = np.arange(cfg.n_lags, len(load))
    cols = [load[t - k] for k in range(cfg.n_lags)]
    cols += [np.sin(2 * np.pi * t / 24), np.cos(2 * np.pi * t / 24), ((t // 24) % 7 >= 5).astype(float)]
    return np.stack(cols, 1), load[t]


def main(cfg=Config()):
    torch.manual_seed(cfg.seed)
    x, y = make_table(simulate(cfg), cfg)
    cut = int(0.8 * len(x))
    mx, sx, my, sy = x[:cut].mean(0), x[:cut].std(0), y[:cut].mean(), y[:cut].std()
    x = torch.tensor((x - mx) / sx, dtype=torch.float32)
    y = torch.tensor((y - my) / sy, dtype=torch.float32)[:, None]
    xt, yt, xv, yv = x[:cut], y[:cut], x[cut:], y[cut:]

    net = nn.Sequential(nn.Linear(x.shape[1], cfg.hidden), nn.ReLU(), nn.Linear(cfg.hidden, cfg.hidden), nn.ReLU(), nn.Linear(cfg.hidden, 1))
    opt = torch.optim.AdamW(net.parameters(), lr=cfg.lr, weight_decay=1e-2)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, cfg.lr * 3, total_steps=cfg.epochs * -(-cut // cfg.batch))
    mse = nn.MSELoss()
    for epoch in range(1, cfg.epochs + 1):
        net.train()
        total = 0.0
        for rows in torch.randperm(cut).split(cfg.batch):
            loss = mse(net(xt[rows]), yt[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            total += loss.item() * len(rows)
        net.eval()
        with torch.no_grad():
            vloss = mse(net(xv), yv).item()
        print(f"epoch {epoch:2d}  train mse {total / cut:.5f}  val mse {vloss:.5f}  val rmse {vloss ** 0.5 * sy:.1f} MW")


main()
