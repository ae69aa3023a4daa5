import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

CLASSES = ["walk", "run", "stairs", "cycle", "sit"]
FREQ = [1.0, 2.6, 1.0, 1.5, 0.2]
PHASE = [0.0, 0.5, 1.5, 3.0, 0.0]


def make_windows(n, rng, length=64):
    """Windows of three accelerometer axes, each with its own gain and offset."""
    t = np.linspace(0, 3, length)
    X, y = np.empty((n, 3, length), "float32"), rng.integers(0, 5, n)
    for i, c in enumerate(y):
        f, start, gain = FREQ[c] * rng.uniform(0.85, 1.15), rng.uniform(0, 6.28), rng.uniform(0.5, 4.0)
        for axis in range(3):
            wave = np.sin(6.28 * f * t + start + axis * PHASE[c]) + 0.4 * np.sin(12.56 * f * t + axis * PHASE[c])
            X[i, axis] = gain * (wave + rng.normal(0, 1.1, length)) + rng.normal(0, 2)
        if rng.random() < 0.04:
            axis = rng.integers(3)
            X[i, axis] = X[i, axis, 0]
    return torch.from_numpy(X), torch.from_numpy(y)


class ActivityNet(nn.Module):
    def __init__(self, n_classes=5):
        super().__init__()
        self.conv1 = nn.Conv1d(3, 24, 7, padding=3)
        self.conv2 = nn.Conv1d(24, 32, 5, padding=2)
        self.fc = nn.Linear(32, n_classes)

    def forward(self, x):
        x = (x - x.mean(dim=2, keepdim=True)) / (x.std(dim=2, keepdim=True) + 1e-5)
        x = F.max_pool1d(F.relu(self.conv1(x)), 2)
        x = F.max_pool1d(F.relu(self.conv2(x)), 2)
        return self.fc(x.mean(dim=2))


class Trainer:
    def __init__(self, model, train_loader, val_loader, lr=2e-3):
        self.model, self.train_loader, self.val_loader = model, train_loader, val_loader
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def train_epoch(self):
        self.model.train()
        total, n = 0.0, 0
        for x, y in self.train_loader:
            loss = F.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total, n = total + loss.item(), n + 1
        return total / max(n, 1)

    @torch.no_grad()
    def accuracy(self):
        self.model.eval()
        return np.mean([(self.model(x).argmax(1) == y).float().mean().item() for x, y in self.val_loader])

    def fit(self, epochs):
        for epoch in range(1, epochs + 1):
            loss = self.train_epoch()
            print(f"epoch {epoch:2d}  train loss {loss:.4f}  val acc {self.accuracy():.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    rng = np.random.default_rng(8)
    train = DataLoader(TensorDataset(*make_windows(2400, rng)), batch_size=64, shuffle=True)
    val = DataLoader(TensorDataset(*make_windows(600, rng)), batch_size=100)
    Trainer(ActivityNet(), train, val).fit(12)
