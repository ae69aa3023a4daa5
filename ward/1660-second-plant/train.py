"""Bearing faults from vibration spectra: a model for the first plant, then taught the machines of the second one.

    python train.py
"""
import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAULTS = ["ok", "inner race", "outer race", "ball", "cage"]


def spectra(plant, count, rng):
    """One-sided spectra of 48 bins; the machines of the two plants turn at different speeds and hum differently."""
    label = rng.integers(0, len(FAULTS), count)
    bins = np.arange(48)[None, :]
    base = (3.0, 5.5, 8.0, 11.0, 14.0) if plant == "north" else (12.5, 9.0, 4.0, 6.5, 16.0)
    line = np.array(base)[label][:, None] + 0.25 * rng.normal(size=(count, 1))
    x = 0.35 * rng.normal(size=(count, 48))
    for harmonic in (1, 2, 3):
        x += (1.6 / harmonic) * np.exp(-0.5 * ((bins - harmonic * line) / 0.8) ** 2)
    hum = 20 if plant == "north" else 33
    x += 0.8 * np.exp(-0.5 * ((bins - hum) / 1.5) ** 2)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(label)


def loaders(plant, rng, batch):
    train = TensorDataset(*spectra(plant, 2000, rng))
    test = TensorDataset(*spectra(plant, 600, rng))
    return DataLoader(train, batch_size=batch, shuffle=True), DataLoader(test, batch_size=200)


class FaultNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(16, 24, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2)
        )
        self.head = nn.Sequential(nn.Linear(24 * 12, 64), nn.ReLU(), nn.Linear(64, len(FAULTS)))

    def forward(self, x):
        return self.head(self.body(x.unsqueeze(1)).flatten(1))


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    right = total = 0
    for x, y in loader:
        right += (model(x).argmax(dim=1) == y).sum().item()
        total += len(y)
    return right / total


def fit(model, loader, epochs, lr, watch):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
        scores = "  ".join(f"{name} {accuracy(model, held):.3f}" for name, held in watch.items())
        print(f"epoch {epoch}: loss {loss.item():.3f}  {scores}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.manual_seed(3)
    rng = np.random.default_rng(3)

    north_train, north_test = loaders("north", rng, 64)
    south_train, south_test = loaders("south", rng, 64)
    model = FaultNet()

    fit(model, north_train, args.rounds, args.lr, {"north": north_test})
    fit(model, south_train, args.rounds, args.lr, {"north": north_test, "south": south_test})


if __name__ == "__main__":
    main()
