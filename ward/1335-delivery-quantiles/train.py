"""Delivery time: predict the 10 %, 50 % and 90 % quantiles with the pinball loss."""
import numpy as np
import torch
from torch import nn

QUANTILES = torch.tensor([0.1, 0.5, 0.9])
rng = np.random.default_rng(12)
torch.manual_seed(12)


def orders(n):
    dist = rng.gamma(2.0, 2.0, n)
    items = rng.poisson(3, n) + 1
    hour = rng.uniform(8, 22, n)
    rain = rng.random(n) < 0.25
    vehicle = rng.integers(0, 3, n)
    angle = 2 * np.pi * hour / 14  # opening hours 8 to 22
    rush = 0.5 + 0.4 * np.cos(angle - 5.5)
    centre = 8 + np.array([3.2, 2.4, 1.9])[vehicle] * dist + 1.2 * items + 9 * rush
    spread = 3 + 0.6 * dist + 4 * rush + 4 * rain
    minutes = centre + spread * rng.gamma(2.0, 1.0, n)
    x = np.column_stack([dist, items, np.sin(angle), np.cos(angle), rain, np.eye(3)[vehicle]])
    return x.astype("float32"), minutes.astype("float32")[:, None]


x_train, y_train = orders(6000)
x_val, y_val = orders(1500)
x_mu, x_sd, y_mu, y_sd = x_train.mean(0), x_train.std(0), y_train.mean(), y_train.std()
x_train, x_val = (torch.from_numpy((x - x_mu) / x_sd) for x in (x_train, x_val))
y_train, y_val = (torch.from_numpy((y - y_mu) / y_sd) for y in (y_train, y_val))


def pinball(pred, y):
    e = y - pred
    return torch.maximum(QUANTILES * e, (QUANTILES - 1) * e).mean()


model = nn.Sequential(nn.Linear(8, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 3))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-3)

for epoch in range(1, 26):
    model.train()
    tr = []
    for b in torch.randperm(len(x_train)).split(64):
        loss = pinball(model(x_train[b]), y_train[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tr.append(loss.item())
    model.eval()
    with torch.no_grad():
        p = model(x_val)
        cover = (y_val <= p).float().mean(0)
    print(f"{epoch:2d} pinball {np.mean(tr):.4f} / {pinball(p, y_val).item():.4f}   below q10/q50/q90: " + " ".join(f"{c:.3f}" for c in cover.tolist()))
