import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

RATE, SECONDS = 4000, 1.0
CLASSES = ["siren", "hum", "chirp", "clicks"]


def synth(kind, rng):
    t = np.arange(int(RATE * SECONDS)) / RATE
    f = rng.uniform(300, 900)
    if kind == "siren":
        s = np.sin(2 * np.pi * f * t + rng.uniform(30, 60) * np.sin(2 * np.pi * 3 * t))
    elif kind == "hum":
        s = np.sin(2 * np.pi * f / 3 * t) + 0.5 * np.sin(2 * np.pi * f * 2 / 3 * t)
    elif kind == "chirp":
        s = np.sin(2 * np.pi * (f * t + rng.uniform(200, 500) * t ** 2))
    else:
        s = np.zeros_like(t)
        s[rng.integers(0, len(t), 12)] = 8.0
        s = np.convolve(s, np.exp(-np.arange(60) / 12), "same")
    return (s * rng.uniform(0.4, 1.0) + rng.normal(0, 0.5, len(t))).astype(np.float32)


def write_corpus(root, n, seed):
    rng = np.random.default_rng(seed)
    items = []
    for i in range(n):
        label = int(rng.integers(len(CLASSES)))
        path = os.path.join(root, f"{seed}_{i:05d}.npz")
        np.savez_compressed(path, wave=synth(CLASSES[label], rng))
        items.append((path, label))
    return items


def log_spectrogram(wave, n_fft=256, hop=128):
    window = np.hanning(n_fft)
    freqs = np.arange(n_fft // 2)
    basis = np.exp(-2j * np.pi * freqs[:, None] * np.arange(n_fft)[None, :] / n_fft)
    frames = [np.abs(basis @ (wave[s:s + n_fft] * window)) for s in range(0, len(wave) - n_fft + 1, hop)]
    spec = np.log1p(np.stack(frames, axis=1))
    return spec.reshape(32, 4, -1).mean(axis=1).astype(np.float32)


class SoundDataset(Dataset):
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        path, label = self.items[i]
        spec = log_spectrogram(np.load(path)["wave"])
        return torch.from_numpy((spec - 1.6) / 0.8), label


class SoundNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(32, 32, 3, padding=1), nn.BatchNorm1d(32), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(32, 32, 3, padding=1), nn.BatchNorm1d(32), nn.ReLU(), nn.AdaptiveAvgPool1d(1),
        )
        self.fc = nn.Linear(32, len(CLASSES))

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


def main():
    torch.manual_seed(6)
    with tempfile.TemporaryDirectory() as root:
        train_loader = DataLoader(SoundDataset(write_corpus(root, 420, 1)), batch_size=30, shuffle=True)
        val_loader = DataLoader(SoundDataset(write_corpus(root, 120, 2)), batch_size=60)
        net = SoundNet()
        optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=8)
        criterion = nn.CrossEntropyLoss()
        for epoch in range(8):
            net.train()
            total = 0.0
            for spec, label in train_loader:
                loss = criterion(net(spec), label)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.item()
            scheduler.step()
            net.eval()
            val_loss = hits = 0.0
            with torch.no_grad():
                for spec, label in val_loader:
                    out = net(spec)
                    val_loss += criterion(out, label).item() / len(val_loader)
                    hits += (out.argmax(1) == label).sum().item()
            print(f"epoch {epoch + 1} train {total / len(train_loader):.4f} val {val_loss:.4f} acc {hits / 120:.3f}")


if __name__ == "__main__":
    main()
