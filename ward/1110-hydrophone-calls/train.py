"""Whale call classifier. Validation goes recording by recording, as the survey delivers them."""
import argparse

import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset

SPECIES = ["blue", "fin", "humpback", "minke", "sei"]


def call(species, rng, n=64):
    t = np.linspace(0, 1, n)
    f0, slope, pulses = [(4, -2, 1), (8, -4, 3), (10, 6, 2), (14, 0, 5), (6, 3, 1)][species]
    f0 = f0 * rng.normal(1, 0.12)
    phase = 2 * np.pi * (f0 * t + 0.5 * slope * t ** 2) + rng.uniform(0, 6)
    env = 0.5 + 0.5 * np.cos(2 * np.pi * pulses * t + rng.uniform(0, 6))
    return (0.4 + env) * np.sin(phase) + 0.5 * rng.normal(size=n)


class Calls(Dataset):
    def __init__(self, n, rng):
        self.y = rng.integers(0, len(SPECIES), n)
        self.x = np.stack([call(s, rng) for s in self.y]).astype("float32")

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]).unsqueeze(0), int(self.y[i])


def survey(n_recordings, rng, calls_each=12):
    """A list of recordings; one animal calls in each."""
    out = []
    for r in range(n_recordings):
        s = r % len(SPECIES)
        x = np.stack([call(s, rng) for _ in range(calls_each)]).astype("float32")
        out.append((torch.from_numpy(x).unsqueeze(1), torch.full((calls_each,), s)))
    return out


class CallNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, 16, 9, padding=4), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(16, 32, 5, padding=2), nn.BatchNorm1d(32), nn.ReLU(), nn.AdaptiveMaxPool1d(4))
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(128, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Dropout(0.3), nn.Linear(48, len(SPECIES)))

    def forward(self, x):
        return self.head(self.conv(x))


@torch.no_grad()
def validate(model, recordings, criterion):
    losses, hits, n = [], 0, 0
    for x, y in recordings:
        logits = model(x)
        losses.append(criterion(logits, y).item())
        hits += (logits.argmax(1) == y).sum().item()
        n += len(y)
    return np.mean(losses), hits / n


def train(args):
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    loader = DataLoader(Calls(1600, rng), batch_size=args.batch_size, shuffle=True)
    recordings = survey(30, rng)
    model = CallNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.Adam(model.parameters(), lr=args.lr, weight_decay=1e-4)
    for epoch in range(args.epochs):
        model.train()
        run = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            run += loss.item()
        vl, va = validate(model, recordings, criterion)
        print(f"[{epoch + 1}/{args.epochs}] loss {run / len(loader):.4f} - val_loss {vl:.4f} - val_acc {va:.3f}")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--seed", type=int, default=13)
    train(ap.parse_args())
