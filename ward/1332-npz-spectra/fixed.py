import os
import tempfile
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split


def export(path, n=700, length=240):
    """Stands for the instrument's export: one archive with all spectra."""
    rng = np.random.default_rng(9)
    grid = np.arange(length)
    lines = [(40, 95, 180), (40, 120, 180), (60, 95, 200), (75, 130, 210)]
    label = rng.integers(0, len(lines), n)
    spectra = np.empty((n, length), "float32")
    for i, k in enumerate(label):
        s = 0.4 * np.exp(-grid / rng.uniform(60, 140))
        for c in lines[k]:
            s = s + rng.uniform(0.3, 1.0) * np.exp(-0.5 * ((grid - c - rng.normal(0, 3)) / 4) ** 2)
        spectra[i] = s + rng.normal(0, 0.4, length)
    np.savez_compressed(path, spectra=spectra, label=label)


class SpectraDataset(Dataset):
    def __init__(self, path):
        with np.load(path) as f:
            self.spectra, self.label = f["spectra"], f["label"]
        self.n = len(self.label)
        self.mean, self.std = self.spectra.mean(), self.spectra.std()

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        x = self.spectra[i]
        y = int(self.label[i])
        x = (x - self.mean) / self.std
        return torch.from_numpy(x)[None], y


class SpectraNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(1, 16, 9, stride=2, padding=4), nn.ReLU(),
            nn.Conv1d(16, 24, 9, stride=2, padding=4), nn.ReLU(),
            nn.Conv1d(24, 24, 5, stride=2, padding=2), nn.ReLU(), nn.Flatten())
        self.fc = nn.Linear(24 * 30, classes)

    def forward(self, x):
        return self.fc(self.body(x))


def main():
    torch.manual_seed(9)
    path = os.path.join(tempfile.mkdtemp(), "spectra.npz")
    export(path)
    data = SpectraDataset(path)
    train, val = random_split(data, [560, 140])
    train_dl = DataLoader(train, batch_size=8, shuffle=True)
    val_dl = DataLoader(val, batch_size=70)
    net = SpectraNet()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(4):
        net.train()
        total = 0.0
        for x, y in train_dl:
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        net.eval()
        with torch.no_grad():
            hits = sum((net(x).argmax(1) == y).sum().item() for x, y in val_dl)
        print(f"epoch {epoch + 1}: loss {total / len(train_dl):.4f}  val acc {hits / len(val):.3f}", flush=True)


if __name__ == "__main__":
    main()
