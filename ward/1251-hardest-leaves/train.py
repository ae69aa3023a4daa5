"""Leaf outlines: classify 1-d contour signatures and list the samples that were hardest during training."""
import resource

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def contours(n, points=64, species=5):
    g = torch.Generator().manual_seed(77)
    phi = torch.linspace(0, 6.2832, points)
    y = torch.randint(0, species, (n,), generator=g)
    lobes = (y + 2).float()[:, None]
    shift = 6.2832 * torch.rand(n, 1, generator=g)
    radius = torch.cos(lobes * phi + shift) + 0.7 * torch.randn(n, points, generator=g)
    return radius[:, None], y


class ContourNet(nn.Module):
    def __init__(self, width=24, species=5):
        super().__init__()
        self.stem = nn.Conv1d(1, width, 9, padding=4, padding_mode="circular")
        self.mid = nn.Conv1d(width, width, 9, padding=4, padding_mode="circular")
        self.head = nn.Linear(width, species)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = F.relu(self.mid(x))
        return self.head(x.amax(2))


class HardSamples:
    """Remembers each batch's worst sample, scored after the update, for the report at the end."""

    def __init__(self):
        self.entries = []

    def update(self, step, index, logits, labels):
        losses = F.cross_entropy(logits, labels, reduction="none")
        worst = losses.argmax()
        self.entries.append((losses[worst], int(index[worst]), step))

    def report(self, k=5):
        for value, index, step in sorted(self.entries, key=lambda e: -e[0].item())[:k]:
            print(f"  sample {index:4d}: loss {value.item():.3f} after step {step}")


def main():
    torch.manual_seed(5)
    x, y = contours(1500)
    index = torch.arange(1500)
    train = DataLoader(TensorDataset(index[:1200], x[:1200], y[:1200]), batch_size=50, shuffle=True)
    net = ContourNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    hard = HardSamples()
    step = 0
    for epoch in range(6):
        net.train()
        total = 0.0
        for idx, xb, yb in train:
            loss = F.cross_entropy(net(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hard.update(step, idx, net(xb), yb)
            total += loss.item()
            step += 1
        net.eval()
        with torch.no_grad():
            acc = (net(x[1200:]).argmax(1) == y[1200:]).float().mean()
        mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"epoch {epoch}: loss {total / len(train):.4f}  val acc {acc:.3f}  {mb:.0f} MB")
    print("hardest samples:")
    hard.report()


if __name__ == "__main__":
    main()
