"""Reuse the trunk of a parity classifier to read digits: trunk loaded and kept fixed, new head on top."""
import tempfile
from pathlib import Path

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


class DigitNet(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(1, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                   nn.Conv2d(24, 48, 3, padding=1), nn.ReLU(), nn.Flatten())
        for name, width in heads.items():
            setattr(self, name, nn.Linear(48 * 16, width))
        self.active = list(heads)[-1]

    def forward(self, x):
        return getattr(self, self.active)(self.trunk(x))


def loop(net, opt, train, val, epochs, tag):
    ce = nn.CrossEntropyLoss()
    for epoch in range(1, epochs + 1):
        net.train()
        total = 0.0
        for x, y in train:
            opt.zero_grad()
            loss = ce(net(x), y)
            loss.backward()
            opt.step()
            total += loss.item()
        net.eval()
        ok = n = 0
        with torch.no_grad():
            for x, y in val:
                ok += (net(x).argmax(1) == y).sum().item()
                n += len(y)
        print(f"{tag} {epoch:2d}  loss {total / len(train):.4f}  val acc {ok / n:.3f}")


def loaders(x, y):
    return (DataLoader(TensorDataset(x[:1200], y[:1200]), batch_size=40, shuffle=True),
            DataLoader(TensorDataset(x[1200:], y[1200:]), batch_size=200))


def main():
    torch.manual_seed(29)
    d = load_digits()
    x, y = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1) / 8 - 1, torch.tensor(d.target)
    order = torch.randperm(len(x))
    x, y = x[order], y[order]
    with tempfile.TemporaryDirectory() as tmp:
        path = Path(tmp) / "parity.pt"
        first = DigitNet({"parity": 2})
        loop(first, torch.optim.Adam(first.parameters(), lr=1e-3), *loaders(x, y % 2), epochs=8, tag="parity")
        torch.save(first.state_dict(), path)

        net = DigitNet({"digit": 10})
        missing, unexpected = net.load_state_dict(torch.load(path), strict=False)
        print("not in the file:", missing, " not needed:", unexpected)
    net.trunk.requires_grad_(False)
    opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=2e-3)
    loop(net, opt, *loaders(x, y), epochs=10, tag="digit")


if __name__ == "__main__":
    main()
