import random

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset

random.seed(8)
np.random.seed(8)
torch.manual_seed(8)


class PairDigits(Dataset):
    """Random pairs, half of them from the same class."""

    def __init__(self, images, labels, n_pairs):
        self.images = torch.tensor(images, dtype=torch.float32).unsqueeze(1) / 8.0 - 1.0
        self.by_class = [np.flatnonzero(labels == c) for c in range(10)]
        self.labels = labels
        self.n_pairs = n_pairs

    def __len__(self):
        return self.n_pairs

    def __getitem__(self, _):
        i = random.randrange(len(self.labels))
        same = random.random() < 0.5
        if same:
            j = random.choice(self.by_class[self.labels[i]])
        else:
            other = random.choice([c for c in range(10) if c != self.labels[i]])
            j = random.choice(self.by_class[other])
        return {"left": self.images[i], "right": self.images[j], "same": torch.tensor(float(same))}


class Embedder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.proj = nn.Linear(128, dim)

    def forward(self, x):
        return self.proj(self.features(x))


def distance(a, b):
    return torch.sqrt(((a - b) ** 2).sum(dim=1) + 1e-8)


def contrastive(d, same, margin=2.0):
    near = same * d ** 2
    far = (1 - same) * torch.clamp(margin - d, min=0) ** 2
    return (near + far).mean()


def verification_accuracy(net, loader):
    net.eval()
    hits = total = 0
    with torch.no_grad():
        for pair in loader:
            close = distance(net(pair["left"]), net(pair["right"])) < 1.0
            hits += (close == pair["same"].bool()).sum().item()
            total += len(close)
    return hits / total


data = load_digits()
order = np.random.permutation(len(data.target))
tr, te = order[:1300], order[1300:]
train_loader = DataLoader(PairDigits(data.images[tr], data.target[tr], 2400), batch_size=64)
test_loader = DataLoader(PairDigits(data.images[te], data.target[te], 1000), batch_size=250)

net = Embedder()
optimizer = torch.optim.RMSprop(net.parameters(), lr=7e-4)
for epoch in range(1, 13):
    net.train()
    losses = []
    for pair in train_loader:
        optimizer.zero_grad()
        d = distance(net(pair["left"]), net(pair["right"]))
        loss = contrastive(d, pair["same"])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print("epoch", epoch, "loss %.4f" % np.mean(losses), "pairs right %.3f" % verification_accuracy(net, test_loader))
