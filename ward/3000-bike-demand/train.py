"""Hourly demand of a bike rental from calendar and weather."""
import argparse

import numpy as np
import torch
import torch.nn as nn
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

COLUMNS = ["temp", "humidity", "wind", "pressure", "year", "hour_sin", "hour_cos", "holiday"]
NUMERIC = ["temp", "humidity", "wind"]


def load(n, seed):
    r = np.random.RandomState(seed)
    hour = r.randint(0, 24, n)
    temp = 14 + 9 * r.randn(n)
    hum = np.clip(60 + 18 * r.randn(n), 5, 100)
    wind = r.gamma(2.0, 6.0, n)
    pressure = 1013 + 9 * r.randn(n)
    year = 2011 + r.randint(0, 5, n)
    holiday = (r.rand(n) < 0.1).astype(float)
    rush = np.exp(-(hour - 8) ** 2 / 6.0) + np.exp(-(hour - 18) ** 2 / 9.0)
    demand = (3.0 + 1.6 * rush * (1 - 0.7 * holiday) + 0.06 * temp - 0.012 * (hum - 60) - 0.02 * wind
              + 0.5 * (year - 2011) + 0.035 * (pressure - 1013) + 0.15 * r.randn(n))
    table = np.stack([temp, hum, wind, pressure, year, np.sin(hour / 24 * 2 * np.pi),
                      np.cos(hour / 24 * 2 * np.pi), holiday], 1)
    return table.astype(np.float32), demand.astype(np.float32)


def build(hidden):
    return nn.Sequential(nn.Linear(len(COLUMNS), hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                         nn.Linear(hidden, 1))


def rmse(net, X, y):
    with torch.no_grad():
        return torch.sqrt(((net(X).squeeze(1) - y) ** 2).mean()).item()


def main(args):
    torch.manual_seed(args.seed)
    table, demand = load(args.rows, args.seed)
    X_train, X_val, y_train, y_val = train_test_split(table, demand, test_size=0.25, random_state=args.seed)
    cols = [COLUMNS.index(c) for c in NUMERIC]
    scaler = StandardScaler().fit(X_train[:, cols])
    X_train[:, cols] = scaler.transform(X_train[:, cols])
    X_val[:, cols] = scaler.transform(X_val[:, cols])
    mean, std = y_train.mean(), y_train.std()
    X_train, X_val = torch.from_numpy(X_train), torch.from_numpy(X_val)
    y_train, y_val = torch.from_numpy((y_train - mean) / std), torch.from_numpy((y_val - mean) / std)

    net = build(args.hidden)
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=args.epochs)
    for epoch in range(1, args.epochs + 1):
        net.train()
        total = 0.0
        for idx in torch.randperm(len(y_train)).split(args.batch_size):
            loss = nn.functional.mse_loss(net(X_train[idx]).squeeze(1), y_train[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        sched.step()
        net.eval()
        if epoch % 3 == 0:
            print(f"{epoch:3d} | mse {total / len(y_train):.4f} | rmse train {rmse(net, X_train, y_train):.4f} "
                  f"val {rmse(net, X_val, y_val):.4f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--rows", type=int, default=16000)
    p.add_argument("--hidden", type=int, default=64)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--epochs", type=int, default=36)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--seed", type=int, default=4)
    main(p.parse_args())
