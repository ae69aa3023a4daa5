"""Heart rate from raw 16-bit pulse recordings (5 s at 32 Hz), 1-D CNN regression."""
import struct
import sys

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

RATE, LENGTH = 32, 160
HEADER = struct.Struct("<4sBBH")          # magic, device, flags, heart rate x 10
BIG_ENDIAN = 0x01


def write_recording(rng):
    """What the loggers put on the card. Two of the old ones (device 7) are built around a big-endian chip and say so in the flags."""
    bpm = rng.uniform(50, 130)
    t = np.arange(LENGTH) / RATE + rng.uniform(0, 1)
    beat = np.sin(2 * np.pi * bpm / 60 * t)
    wave = 150 * beat + 50 * np.sign(beat) * beat ** 2 + rng.normal(0, 37, LENGTH)
    old = rng.random() < 0.006
    flags = BIG_ENDIAN if old else 0
    samples = wave.round().astype(">i2" if old else "<i2").tobytes()
    return HEADER.pack(b"PULS", 7 if old else int(rng.integers(1, 7)), flags, int(bpm * 10)) + samples


def read_recording(blob):
    magic, device, flags, rate = HEADER.unpack_from(blob)
    assert magic == b"PULS"
    wave = np.frombuffer(blob, dtype="<i2", offset=HEADER.size)
    return wave.astype(np.float32) / 130.0, rate / 10


def load(n, seed):
    rng = np.random.default_rng(seed)
    waves, rates = zip(*(read_recording(write_recording(rng)) for _ in range(n)))
    x = torch.from_numpy(np.stack(waves)).unsqueeze(1)
    y = (torch.tensor(rates, dtype=torch.float32) - 90) / 23
    return TensorDataset(x, y)


class PulseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, 16, 15, stride=2), nn.ReLU(),
            nn.Conv1d(16, 32, 9, stride=2), nn.ReLU(),
            nn.Conv1d(32, 32, 5, stride=2), nn.ReLU(),
        )
        self.head = nn.Sequential(nn.Linear(480, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.head(self.features(x).flatten(1)).squeeze(1)


def main(epochs=7):
    torch.manual_seed(2)
    train = DataLoader(load(1000, seed=5), batch_size=25, shuffle=True)
    val = DataLoader(load(200, seed=6), batch_size=100)
    net = PulseNet()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(epochs):
        net.train()
        losses = []
        for x, y in train:
            loss = nn.functional.mse_loss(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        net.eval()
        with torch.no_grad():
            err = torch.cat([(net(x) - y).abs() for x, y in val]) * 23
        print(f"epoch {epoch}: mse mean {np.mean(losses):.3f} max {np.max(losses):.2f} | val median error {err.median():.2f} bpm, mean {err.mean():.2f} bpm")


if __name__ == "__main__":
    sys.exit(main())
