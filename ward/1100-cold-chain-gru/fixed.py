"""One-step-ahead temperature of refrigerated lorries from the last 24 readings."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

WINDOW, BATCH, EPOCHS = 24, 64, 8


class ColdChain(Dataset):
    """Windows over simulated reefers: compressor cycle, door openings, ambient swing."""

    def __init__(self, n_trucks, seed):
        rng = np.random.default_rng(seed)
        xs, ys = [], []
        for _ in range(n_trucks):
            n = 140
            t = np.arange(n)
            period = rng.uniform(9, 16)
            temp = 1.2 * np.sin(2 * np.pi * t / period + rng.uniform(0, 6)) + 0.6 * np.sin(2 * np.pi * t / 96)
            door = (rng.random(n) < 0.04).astype(float)
            warm = np.convolve(door, 1.5 * np.exp(-np.arange(10) / 3.0))[:n]
            temp = temp + warm + 0.1 * rng.normal(size=n)
            seq = np.stack([temp, door], 1)
            for s in range(0, n - WINDOW - 1, 5):
                xs.append(seq[s:s + WINDOW])
                ys.append(temp[s + WINDOW])
        self.x = torch.tensor(np.array(xs), dtype=torch.float32)
        self.y = torch.tensor(np.array(ys), dtype=torch.float32)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class ReeferNet(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.gru = nn.GRU(2, hidden, batch_first=True)
        self.fc = nn.Sequential(nn.Linear(hidden, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        _, h = self.gru(x)
        return self.fc(h[-1]).squeeze(-1)


def train_one_epoch(model, loader, optimizer, criterion):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    return total / len(loader.dataset)


@torch.no_grad()
def validate(model, loader, criterion):
    model.eval()
    total = 0.0
    for x, y in loader:
        total += criterion(model(x), y).item() * len(y)
    return total / len(loader.dataset)


def main():
    torch.manual_seed(4)
    train_dl = DataLoader(ColdChain(100, 0), batch_size=BATCH, shuffle=True)
    val_dl = DataLoader(ColdChain(30, 1), batch_size=256)
    model = ReeferNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.015, momentum=0.9)
    criterion = nn.MSELoss()
    for epoch in range(1, EPOCHS + 1):
        tr = train_one_epoch(model, train_dl, optimizer, criterion)
        va = validate(model, val_dl, criterion)
        print(f"Epoch {epoch:02d}/{EPOCHS} | train MSE {tr:.4f} | val MSE {va:.4f}")


if __name__ == "__main__":
    main()
