import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(5)


def record_session(path, n, seed):
    """Simulated single-lead beats of four rhythm classes, stored as one compressed archive."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, 128)
    labels = rng.integers(0, 4, n)
    beats = np.zeros((n, 128), np.float32)
    for i, k in enumerate(labels):
        shift = rng.uniform(-0.06, 0.06)
        bump = lambda c, w, a: a * np.exp(-((t - c - shift) / w) ** 2)
        beat = bump(0.5, 0.03 if k != 1 else 0.07, 1.0) + bump(0.72, 0.06, 0.35 if k != 2 else -0.3)
        if k != 3:
            beat = beat + bump(0.3, 0.04, 0.25)
        beats[i] = beat * rng.uniform(0.8, 1.2) + rng.normal(0, 0.12, 128) + 0.2 * np.sin(2 * np.pi * (t + rng.random()))
    np.savez_compressed(path, beats=beats / 0.35, labels=labels)


class BeatDataset(Dataset):
    def __init__(self, path):
        self.path = path
        with np.load(path) as archive:
            self.length = len(archive["labels"])

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        archive = np.load(self.path)
        beat = torch.from_numpy(archive["beats"][index]).unsqueeze(0)
        return beat, int(archive["labels"][index])


class BeatNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, 16, 7, stride=2, padding=3), nn.ReLU(),
            nn.Conv1d(16, 32, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv1d(32, 32, 5, stride=2, padding=2), nn.ReLU())
        self.head = nn.Linear(32 * 16, 4)

    def forward(self, x):
        return self.head(self.conv(x).flatten(1))


def main():
    folder = tempfile.mkdtemp()
    record_session(os.path.join(folder, "train.npz"), 400, 0)
    record_session(os.path.join(folder, "valid.npz"), 160, 1)
    train_loader = DataLoader(BeatDataset(os.path.join(folder, "train.npz")), batch_size=20, shuffle=True)
    valid_loader = DataLoader(BeatDataset(os.path.join(folder, "valid.npz")), batch_size=80)
    model = BeatNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(10):
        model.train()
        total = 0.0
        for x, y in train_loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        val = hits = 0.0
        with torch.no_grad():
            for x, y in valid_loader:
                out = model(x)
                val += nn.functional.cross_entropy(out, y, reduction="sum").item()
                hits += (out.argmax(1) == y).sum().item()
        n = len(valid_loader.dataset)
        print(f"epoch {epoch + 1} train {total / len(train_loader):.4f} valid {val / n:.4f} acc {hits / n:.3f}")


if __name__ == "__main__":
    main()
