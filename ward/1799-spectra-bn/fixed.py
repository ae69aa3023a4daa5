"""Identify minerals from reflectance spectra (synthetic spectra, 6 minerals)."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(9)
BATCH_SIZE = 32
EPOCHS = 8
LR = 1e-3
BANDS, MINERALS = 60, 6


class Spectra(Dataset):
    def __init__(self, n, seed):
        centres = np.random.default_rng(0).uniform(5, 55, size=(MINERALS, 3))
        rng = np.random.default_rng(seed)
        self.y = rng.integers(0, MINERALS, n)
        bands = np.arange(BANDS)
        x = np.zeros((n, BANDS))
        for k in range(3):
            mu = centres[self.y, k] + rng.normal(0, 0.8, n)
            depth = rng.uniform(0.3, 1.0, n)
            x -= depth[:, None] * np.exp(-0.5 * ((bands[None] - mu[:, None]) / 2.5) ** 2)
        x += rng.normal(0, 0.5, (n, 1)) + 0.2 * rng.normal(size=(n, BANDS))
        self.x = x.astype("float32")

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], int(self.y[i])


def dense(i, o):
    return nn.Sequential(nn.Linear(i, o), nn.BatchNorm1d(o), nn.ReLU(inplace=True))


class SpectraNet(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.encoder = nn.Sequential(dense(BANDS, hidden), dense(hidden, hidden), dense(hidden, hidden))
        self.head = nn.Linear(hidden, MINERALS)

    def forward(self, x):
        return self.head(self.encoder(x))


def train_epoch(net, loader, criterion, optimizer):
    net.train()
    running = 0.0
    for spectra, label in loader:
        optimizer.zero_grad()
        loss = criterion(net(spectra), label)
        loss.backward()
        optimizer.step()
        running += loss.item()
    return running / len(loader)


def evaluate(net, loader, criterion):
    net.eval()
    losses, hits = [], 0
    with torch.no_grad():
        for spectra, label in loader:
            out = net(spectra)
            losses.append(criterion(out, label).item())
            hits += (out.argmax(1) == label).sum().item()
    return np.mean(losses), hits / len(loader.dataset)


if __name__ == "__main__":
    train_set, test_set = Spectra(1600, seed=1), Spectra(400, seed=2)
    train_loader = DataLoader(train_set, batch_size=BATCH_SIZE, shuffle=True, drop_last=True)
    test_loader = DataLoader(test_set, batch_size=200)
    net = SpectraNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=LR, weight_decay=1e-4)
    for epoch in range(EPOCHS):
        tr = train_epoch(net, train_loader, criterion, optimizer)
        te, acc = evaluate(net, test_loader, criterion)
        print(f"[{epoch + 1}/{EPOCHS}] train {tr:.4f}  test {te:.4f}  test accuracy {acc:.3f}")
