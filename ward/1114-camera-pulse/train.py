"""Pulse wave from the mean RGB trace of a face video (PhysNet-like loss, 1-d net)."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

FRAMES = 64


class PulseClips(Dataset):
    def __init__(self, n, seed, sensor_off=0):
        rng = np.random.default_rng(seed)
        t = np.arange(FRAMES) / 30.0
        self.rgb = np.zeros((n, 3, FRAMES), dtype="float32")
        self.ppg = np.zeros((n, FRAMES), dtype="float32")
        for i in range(n):
            hr, ph = rng.uniform(0.8, 2.0), rng.uniform(0, 2 * np.pi)
            wave = np.sin(2 * np.pi * hr * t + ph) + 0.4 * np.sin(4 * np.pi * hr * t + 2 * ph)
            motion = np.cumsum(rng.normal(0, 0.25, FRAMES))
            self.rgb[i] = np.outer([0.3, 0.8, 0.2], wave) + np.outer([1.0, 0.9, 1.1], motion) + 0.3 * rng.normal(size=(3, FRAMES))
            self.ppg[i] = wave
        self.rgb -= self.rgb.mean(2, keepdims=True)
        self.ppg[rng.choice(n, sensor_off, replace=False)] = 0.0  # clip fell off the finger

    def __len__(self):
        return len(self.ppg)

    def __getitem__(self, i):
        return self.rgb[i], self.ppg[i]


class NegPearson(nn.Module):
    """1 - r, averaged over the clips."""

    def forward(self, pred, label):
        p = pred - pred.mean(1, keepdim=True)
        q = label - label.mean(1, keepdim=True)
        cov = (p * q).sum(1)
        norm = p.norm(dim=1) * q.norm(dim=1)
        return (1 - cov / norm).mean()


class PulseNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(3, width, 5, padding=2), nn.BatchNorm1d(width), nn.ELU(),
            nn.Conv1d(width, width, 9, padding=4), nn.BatchNorm1d(width), nn.ELU(),
            nn.Conv1d(width, 1, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


def main():
    torch.manual_seed(102)
    train = DataLoader(PulseClips(1200, 0, sensor_off=3), batch_size=32, shuffle=True)
    valid = DataLoader(PulseClips(200, 1), batch_size=100)
    model, criterion = PulseNet(), NegPearson()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(1, 6):
        model.train()
        losses = []
        for rgb, ppg in train:
            opt.zero_grad()
            loss = criterion(model(rgb), ppg)
            loss.backward()
            opt.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            r = 1 - np.mean([criterion(model(rgb), ppg).item() for rgb, ppg in valid])
        print(f"epoch {epoch} first batches {np.mean(losses[:3]):.3f} epoch mean {np.mean(losses):.3f} | validation r {r:.3f}")


if __name__ == "__main__":
    main()
