"""Groundwater level (m below surface) between observation wells.

usage: python train.py --epochs 30 --hidden 64
"""
import argparse
import numpy as np
import torch
from torch import nn

COLUMNS = ["easting", "northing", "surface_m", "rain_mm_year", "clay_share"]


def load_wells(n, seed):
    """Synthetic survey in UTM zone 32: coordinates in metres, as they come out of the GIS."""
    rng = np.random.default_rng(seed)
    easting = rng.uniform(480_000, 520_000, n)
    northing = rng.uniform(5_380_000, 5_420_000, n)
    u, v = (easting - 500_000) / 20_000, (northing - 5_400_000) / 20_000
    surface = 420 + 90 * u + 60 * np.sin(2 * v) + rng.normal(0, 12, n)
    rain = 780 - 70 * v + rng.normal(0, 40, n)
    clay = rng.beta(2, 4, n)
    level = 9 + 4 * np.sin(2.2 * u) * np.cos(1.7 * v) + 0.03 * (surface - 420) - 0.008 * (rain - 780) + 6 * (clay - 0.33)
    level += rng.normal(0, 0.5, n)
    table = np.stack([easting, northing, surface, rain, clay], axis=1)
    return table.astype(np.float32), level.astype(np.float32)


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=14)
    p.add_argument("--hidden", type=int, default=64)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--seed", type=int, default=5)
    return p.parse_args()


def main(args):
    torch.manual_seed(args.seed)
    x, y = load_wells(2400, args.seed)
    mu, sigma = x[:1900].mean(axis=0), x[:1900].std(axis=0)
    print("columns", COLUMNS, "train means", mu.round(1))
    x = (x - mu) / sigma
    target_mean, target_std = y[:1900].mean(), y[:1900].std()
    y = (y - target_mean) / target_std
    x_train, y_train = torch.from_numpy(x[:1900]), torch.from_numpy(y[:1900])
    x_val, y_val = torch.from_numpy(x[1900:]), torch.from_numpy(y[1900:])

    model = nn.Sequential(
        nn.Linear(len(COLUMNS), args.hidden), nn.ReLU(),
        nn.Linear(args.hidden, args.hidden), nn.ReLU(),
        nn.Linear(args.hidden, 1), nn.Flatten(0),
    )
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        model.train()
        losses = []
        for idx in torch.randperm(len(x_train)).split(args.batch_size):
            loss = nn.functional.mse_loss(model(x_train[idx]), y_train[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            val = nn.functional.mse_loss(model(x_val), y_val).item()
        print(f"epoch {epoch:2d}  train mse {np.mean(losses):.4g}  val mse {val:.4g}  (val rmse {val ** 0.5 * target_std:.3g} m)")


if __name__ == "__main__":
    main(parse())
