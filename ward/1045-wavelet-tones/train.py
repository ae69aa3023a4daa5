import math
import random

import numpy as np
import torch
from torch import nn, optim
from torch.nn import functional as F


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def make_chirps(n, length=64, rng=None):
    """Four kinds of short tone: rising, falling, steady, two-tone."""
    t = np.linspace(0, 1, length)
    kinds = rng.integers(0, 4, n)
    out = np.empty((n, length), dtype=np.float32)
    for i, k in enumerate(kinds):
        f0 = rng.uniform(4, 7)
        phase = rng.uniform(0, 2 * math.pi)
        sweep = {0: 5.0, 1: -5.0, 2: 0.0, 3: 0.0}[int(k)]
        f_start = f0 - sweep / 4
        wave = np.sin(2 * math.pi * (f_start * t + sweep * t * t / 2) + phase)
        if k == 3:
            wave = 0.7 * wave + 0.7 * np.sin(2 * math.pi * 2 * f0 * t)
        out[i] = wave + 0.2 * rng.standard_normal(length)
    return torch.from_numpy(out)[:, None], torch.from_numpy(kinds)


class GatedBlock(nn.Module):
    def __init__(self, channels, dilation):
        super().__init__()
        self.filter = nn.Conv1d(channels, channels, 3, padding=dilation, dilation=dilation)
        self.gate = nn.Conv1d(channels, channels, 3, padding=dilation, dilation=dilation)
        self.mix = nn.Conv1d(channels, channels, 1)

    def forward(self, x):
        z = torch.tanh(self.filter(x)) * torch.sigmoid(self.gate(x))
        return self.mix(z)


class WaveStack(nn.Module):
    def __init__(self, channels=16, dilations=(1, 2, 4, 8, 1, 2, 4, 8), classes=4):
        super().__init__()
        self.inp = nn.Conv1d(1, channels, 5, padding=2)
        self.blocks = nn.ModuleList(GatedBlock(channels, d) for d in dilations)
        self.out = nn.Linear(channels, classes)

    def forward(self, wave):
        h = self.inp(wave)
        for block in self.blocks:
            h = block(h)
        return self.out(F.relu(h).mean(dim=2))


if __name__ == "__main__":
    set_seed(5)
    rng = np.random.default_rng(5)
    waves, kinds = make_chirps(1000, rng=rng)
    test_waves, test_kinds = make_chirps(300, rng=rng)
    model = WaveStack()
    optimizer = optim.Adam(model.parameters(), lr=4e-3)
    for it in range(100):
        pick = torch.from_numpy(rng.choice(1000, 32, replace=False))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(waves[pick]), kinds[pick])
        loss.backward()
        optimizer.step()
        if (it + 1) % 25 == 0:
            with torch.no_grad():
                hit = (model(test_waves).argmax(1) == test_kinds).float().mean()
            print("iter %3d  loss %.4f  test accuracy %.3f" % (it + 1, loss.item(), hit))
