"""Keyword spotter: trained on six words, later extended by two more."""
import math

import torch
import torch.nn as nn
from torch.utils.data import ConcatDataset, DataLoader, TensorDataset

BASE, NEW = [0, 1, 2, 3, 4, 5], [6, 7]


def utterances(words, per_word, seed, length=80):
    """Two chirps per word, with speaker jitter and noise."""
    g = torch.Generator().manual_seed(seed)
    y = torch.tensor(words).repeat_interleave(per_word)
    n = len(y)
    t = torch.linspace(0, 1, length)
    start = (3 + 2.5 * (y % 4)).float()[:, None] + 0.5 * torch.randn(n, 1, generator=g)
    slope = (6.0 * (y // 4) + 2)[:, None] + 0.5 * torch.randn(n, 1, generator=g)
    phase = 2 * math.pi * torch.rand(n, 1, generator=g)
    wave = torch.sin(2 * math.pi * (start * t + slope * t ** 2) + phase)
    loud = 0.7 + 0.6 * torch.rand(n, 1, generator=g)
    return TensorDataset((loud * wave + 0.35 * torch.randn(n, length, generator=g)).unsqueeze(1), y)


def spotter(classes=8):
    return nn.Sequential(nn.Conv1d(1, 24, 9, padding=4), nn.ReLU(), nn.MaxPool1d(2),
                         nn.Conv1d(24, 32, 7, padding=3), nn.ReLU(), nn.MaxPool1d(2),
                         nn.Conv1d(32, 32, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool1d(5), nn.Flatten(),
                         nn.Linear(160, classes))


def accuracy(model, data):
    model.eval()
    x, y = data.tensors
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def fit(model, data, epochs, lr, checks):
    loader = DataLoader(data, batch_size=32, shuffle=True)
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for x, y in loader:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            opt.step()
            total += loss.item()
        marks = "  ".join(f"{name} {accuracy(model, d):.3f}" for name, d in checks.items())
        print(f"  epoch {epoch + 1}: loss {total / len(loader):.4f}  {marks}")


torch.manual_seed(11)
base, new = utterances(BASE, 250, seed=1), utterances(NEW, 250, seed=2)
base_val, new_val = utterances(BASE, 80, seed=3), utterances(NEW, 150, seed=4)
model = spotter()

print("stage 1: base words")
fit(model, base, epochs=12, lr=2e-3, checks={"base": base_val})

print("stage 2: two new words")
fit(model, ConcatDataset([new, base]), epochs=8, lr=1e-3, checks={"base": base_val, "new": new_val})

print(f"shipping: base words {accuracy(model, base_val):.3f}, new words {accuracy(model, new_val):.3f}")
