"""House price model, mini-batch SGD.  Usage: python train.py [--batch N] [--epochs N]"""
import argparse
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def houses(n, seed):
    rng = np.random.default_rng(seed)
    area = rng.lognormal(4.5, 0.35, n)
    rooms = np.clip(np.round(area / 28 + rng.normal(0, 0.8, n)), 1, 9)
    age = rng.gamma(2.0, 15, n)
    dist = rng.exponential(6, n)
    zone = rng.integers(0, 6, n)
    level = np.array([0.35, 0.1, -0.1, 0.0, -0.3, 0.2])[zone]
    log_price = 0.85 * np.log(area) + 0.04 * rooms - 0.006 * age + 0.00007 * age ** 2 - 0.06 * dist + level
    log_price += 0.15 * (zone == 0) * (dist < 3) + rng.standard_t(4, n) * 0.18
    num = np.stack([np.log(area), rooms, age, dist], 1)
    num = (num - num.mean(0)) / num.std(0)
    x = np.concatenate([num, np.eye(6)[zone]], 1)
    y = (log_price - log_price.mean()) / log_price.std()
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)[:, None]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--lr", type=float, default=0.01)
    args = ap.parse_args()
    torch.manual_seed(4)
    full = TensorDataset(*houses(2000, 4))
    train, val = random_split(full, [1600, 400])
    loader = DataLoader(train, batch_size=args.batch, shuffle=True)
    xv, yv = full.tensors[0][val.indices], full.tensors[1][val.indices]

    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    mse = nn.MSELoss()
    for epoch in range(args.epochs):
        running = []
        for x, y in loader:
            loss = mse(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            running.append(loss.item())
        with torch.no_grad():
            v = mse(model(xv), yv).item()
        print(f"epoch {epoch + 1:2d} train mse {np.mean(running):.4f} (std {np.std(running):.3f}) val mse {v:.4f} r2 {1 - v / yv.var().item():.3f}")


if __name__ == "__main__":
    main()
