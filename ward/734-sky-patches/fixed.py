import gzip
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def write_survey(folder, count, rng):
    labels = rng.integers(0, 2, count)
    yy, xx = np.mgrid[-1:1:64j, -1:1:64j]
    for i, galaxy in enumerate(labels):
        width = 0.05 if not galaxy else 0.2
        sky = np.exp(-(xx**2 + yy**2) / width) + 0.3 * rng.normal(size=xx.shape)
        text = "\n".join(" ".join(f"{v:.6f}" for v in row) for row in sky)
        (folder / f"{i}.txt.gz").write_bytes(gzip.compress(text.encode()))
    return labels


class Survey(Dataset):
    def __init__(self, folder, labels):
        self.folder, self.labels = folder, labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        text = gzip.decompress((self.folder / f"{i}.txt.gz").read_bytes()).decode()
        picture = [[float(v) for v in row.split()] for row in text.splitlines()]
        return torch.tensor(picture)[None, ::2, ::2], torch.tensor(float(self.labels[i]))


def main():
    torch.manual_seed(5)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        labels = write_survey(folder, 240, np.random.default_rng(5))
        data = [(x, y) for x, y in (Survey(folder, labels)[i] for i in range(len(labels)))]
        loader = DataLoader(data, batch_size=16, shuffle=True)
        net = nn.Sequential(nn.Conv2d(1, 6, 5, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 14 * 14, 1))
        opt = torch.optim.Adam(net.parameters(), lr=1e-3)
        for epoch in range(8):
            for x, y in loader:
                opt.zero_grad()
                loss = nn.functional.binary_cross_entropy_with_logits(net(x)[:, 0], y)
                loss.backward()
                opt.step()
            print(f"epoch {epoch + 1} loss {loss.item():.4f}")


main()
