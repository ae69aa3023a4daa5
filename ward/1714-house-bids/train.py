"""Predict the winning bid (log scale) of house auctions."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, random_split


class AuctionDataset(Dataset):
    """Synthetic auctions: the bids depend on size, age, location and on who happened to turn up."""

    def __init__(self, n=2300, seed=9):
        rng = np.random.default_rng(seed)
        area = rng.lognormal(4.6, 0.35, n)
        age = rng.integers(0, 90, n)
        dist = rng.gamma(2.0, 4.0, n)
        rooms = np.clip(np.round(area / 28 + rng.normal(0, 0.8, n)), 1, 9)
        garden = rng.random(n) < 0.4
        east = rng.normal(size=n)
        north = rng.normal(size=n)
        value = (0.9 * np.log(area) - 0.004 * age - 0.03 * dist + 0.1 * garden + 0.03 * rooms
                 + 0.25 * np.sin(2 * east) * np.cos(north))
        bids = value + 0.22 * rng.standard_t(4, n)
        feats = np.stack([np.log(area), age, dist, rooms, garden, east, north], 1)
        self.x = torch.tensor((feats - feats.mean(0)) / feats.std(0), dtype=torch.float32)
        self.y = torch.tensor((bids - bids.mean()) / bids.std(), dtype=torch.float32)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def build_model(n_in=7, width=32):
    return nn.Sequential(nn.Linear(n_in, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))


def run(model, loader, loss_fn, opt=None):
    total = n = 0
    model.train(opt is not None)
    with torch.set_grad_enabled(opt is not None):
        for x, y in loader:
            loss = loss_fn(model(x)[:, 0], y)
            if opt is not None:
                opt.zero_grad()
                loss.backward()
                opt.step()
            total += loss.item() * len(y)
            n += len(y)
    return total / n


def main():
    torch.manual_seed(9)
    data = AuctionDataset()
    train_set, val_set = random_split(data, [1800, 500])
    train_loader = DataLoader(train_set, batch_size=1, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=500)
    model = build_model()
    loss_fn = nn.MSELoss()
    opt = torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9, weight_decay=1e-3)
    for epoch in range(1, 11):
        tr = run(model, train_loader, loss_fn, opt)
        va = run(model, val_loader, loss_fn)
        print(f"epoch {epoch:2d}  train mse {tr:.4f}  val mse {va:.4f}")


if __name__ == "__main__":
    main()
