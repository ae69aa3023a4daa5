"""Sale prices of houses from the land registry."""
import argparse

import numpy as np
import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--batch", type=int, default=50)
parser.add_argument("--seed", type=int, default=4)
args = parser.parse_args()

rng = np.random.default_rng(args.seed)
torch.manual_seed(args.seed)


def registry(n):
    area = rng.gamma(6, 20, n) + 30
    rooms = np.clip(np.round(area / 28 + rng.normal(0, 0.8, n)), 1, 9)
    built = rng.integers(1900, 2020, n)
    distance = rng.gamma(2, 4, n)
    plot = rng.gamma(3, 150, n)
    log_price = 7.6 + 0.9 * np.log(area) + 0.003 * (built - 1900) - 0.045 * distance + 0.0003 * plot + rng.normal(0, 0.25, n)
    price = np.exp(log_price) / 1000
    return {
        "area": np.log(area), "rooms": rooms, "built": built, "distance": distance, "plot": np.log(plot),
        "transfer_tax": np.log(0.035 * price + rng.normal(0, 0.02, n)), "price": np.log(price),
    }


COLUMNS = ["area", "rooms", "built", "distance", "plot", "transfer_tax"]


def matrix(table, stats=None):
    x = np.stack([table[c] for c in COLUMNS], 1)
    y = table["price"][:, None]
    if stats is None:
        stats = x.mean(0), x.std(0), y.mean(), y.std()
    mx, sx, my, sy = stats
    to = lambda a: torch.tensor(a, dtype=torch.float32)
    return to((x - mx) / sx), to((y - my) / sy), stats


x, y, stats = matrix(registry(2000))
xv, yv, _ = matrix(registry(500), stats)

net = nn.Sequential(nn.Linear(len(COLUMNS), 40), nn.GELU(), nn.Linear(40, 1))
opt = torch.optim.AdamW(net.parameters(), lr=args.lr)
mse = nn.MSELoss()
for epoch in range(args.epochs):
    net.train()
    losses = []
    for idx in torch.randperm(len(x)).split(args.batch):
        loss = mse(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        err = mse(net(xv), yv)
        r2 = 1 - err / yv.var()
    print(f"epoch {epoch:2d} train mse {np.mean(losses):.4f} val mse {err.item():.4f} r2 {r2.item():.3f}")
