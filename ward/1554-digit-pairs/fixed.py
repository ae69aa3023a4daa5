import random

import torch
import torch.nn as nn
from sklearn.datasets import load_digits

random.seed(57)
torch.manual_seed(1)


class PairSampler:
    """Pairs of digits: half of the same class (label 1), half of two classes (label 0)."""

    def __init__(self, images, labels):
        self.images = images
        self.by_class = [torch.nonzero(labels == c).flatten().tolist() for c in range(10)]

    def batch(self, size):
        left, right, same = [], [], []
        for k in range(size):
            a = random.randrange(10)
            b = a if k % 2 == 0 else random.choice([c for c in range(10) if c != a])
            left.append(random.choice(self.by_class[a]))
            right.append(random.choice(self.by_class[b]))
            same.append(float(a == b))
        return self.images[left], self.images[right], torch.tensor(same)


class Embedder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                  nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.fc = nn.Linear(128, dim)

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


def distance(u, v):
    return torch.sqrt(((u - v) ** 2).sum(dim=1) + 1e-8)


def contrastive_loss(d, same, margin=2.0):
    return (same * d ** 2 + (1 - same) * torch.clamp(margin - d, min=0) ** 2).mean()


data = load_digits()
X = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16
y = torch.tensor(data.target)
train_pairs, val_pairs = PairSampler(X[:1200], y[:1200]), PairSampler(X[1200:], y[1200:])
val_batch = val_pairs.batch(600)
net = Embedder()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
running = 0.0
for step in range(1, 501):
    u, v, same = train_pairs.batch(32)
    loss = contrastive_loss(distance(net(u), net(v)), same)
    opt.zero_grad()
    loss.backward()
    opt.step()
    running += loss.item()
    if step % 25 == 0:
        with torch.no_grad():
            d = distance(net(val_batch[0]), net(val_batch[1]))
        acc = ((d < 1.0).float() == val_batch[2]).float().mean().item()
        print(f"step {step:4d} loss {running / 25:.4f} pair accuracy {acc:.3f}")
        running = 0.0
