"""Recognise station chimes from short clips: band powers in decibels -> 1-D CNN. Training features are cached."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SR, CLIP = 4000, 1024
TUNES = {"berlin": (440, 550), "tokyo": (523, 659), "paris": (392, 784), "london": (330, 495), "madrid": (600, 450)}


def clip(tune, rng):
    t = np.arange(CLIP) / SR
    a, b = TUNES[tune]
    detune = rng.normal(1, 0.03)
    tone = np.where(t < 0.128, np.sin(2 * np.pi * a * detune * t), np.sin(2 * np.pi * b * detune * t))
    return rng.uniform(0.3, 1.0) * tone + 0.9 * rng.normal(size=CLIP)


def frames(wave, n=128):
    pieces = wave.reshape(-1, n) * np.hanning(n)
    return np.abs(np.fft.rfft(pieces, axis=1))[:, 1:41] ** 2   # time x bands


def to_db(power):
    return 10 * np.log10(power + 1e-6)


def cache_training(n, rng):
    names = list(TUNES)
    y = rng.integers(len(names), size=n)
    return np.stack([to_db(frames(clip(names[k], rng))) for k in y]), y


def read_validation(n, rng):
    names = list(TUNES)
    y = rng.integers(len(names), size=n)
    feats = []
    for k in y:
        power = frames(clip(names[k], rng))
        feats.append(np.log(power + 1e-6))
    return np.stack(feats), y


def tensors(feats, y, mean, std):
    x = torch.tensor((feats - mean) / std, dtype=torch.float32).transpose(1, 2)   # bands as channels
    return TensorDataset(x, torch.tensor(y))


class ChimeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(40, 32, 3, padding=1), nn.ReLU(), nn.Conv1d(32, 32, 3, padding=1), nn.ReLU())
        self.head = nn.Linear(64, len(TUNES))

    def forward(self, x):
        h = self.conv(x)
        return self.head(torch.cat([h[..., :4].mean(-1), h[..., 4:].mean(-1)], 1))


torch.manual_seed(12)
rng = np.random.default_rng(12)
train_x, train_y = cache_training(1600, rng)
val_x, val_y = read_validation(400, rng)
mean, std = train_x.mean((0, 1)), train_x.std((0, 1))
train_dl = DataLoader(tensors(train_x, train_y, mean, std), batch_size=32, shuffle=True)
val_dl = DataLoader(tensors(val_x, val_y, mean, std), batch_size=200)

net = ChimeNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
ce = nn.CrossEntropyLoss()
for epoch in range(1, 6):
    net.train()
    run = 0.0
    for x, y in train_dl:
        opt.zero_grad()
        loss = ce(net(x), y)
        loss.backward()
        opt.step()
        run += loss.item()
    net.eval()
    vloss, hits = 0.0, 0
    with torch.no_grad():
        for x, y in val_dl:
            out = net(x)
            vloss += ce(out, y).item() / len(val_dl)
            hits += (out.argmax(1) == y).sum().item()
    print(f"epoch {epoch}: train {run / len(train_dl):.4f} val {vloss:.4f} val acc {hits / len(val_y):.3f}")
