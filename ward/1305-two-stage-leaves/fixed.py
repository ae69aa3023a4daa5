"""Leaf species from small silhouettes: first the whole net, then a second, slower round at lower lr."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(30)
SPECIES = 8


def draw_leaves(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, SPECIES, (n,), generator=g)
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, 20), torch.linspace(-1, 1, 20), indexing="ij")
    r, phi = (xx ** 2 + yy ** 2).sqrt(), torch.atan2(yy, xx)
    lobes = (y % 4 + 2).float().view(-1, 1, 1)
    depth = torch.where(y < 4, 0.16, 0.30).view(-1, 1, 1) + 0.04 * torch.randn(n, 1, 1, generator=g)
    turn = torch.rand(n, 1, 1, generator=g) * 2 * math.pi
    size = 0.6 + 0.06 * torch.randn(n, 1, 1, generator=g)
    edge = size + depth * torch.cos(lobes * phi + turn)
    img = torch.sigmoid((edge - r) * 12) + 0.3 * torch.randn(n, 20, 20, generator=g)
    return ((img - 0.35) / 0.55).unsqueeze(1), y


class LeafNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(32 * 25, 128), nn.ReLU(), nn.Dropout(0.2), nn.Linear(128, SPECIES))

    def forward(self, x):
        return self.head(self.features(x))


def loaders(dataset, batch_size):
    n_val = len(dataset) // 5
    train, val = random_split(dataset, [len(dataset) - n_val, n_val], generator=torch.Generator().manual_seed(0))
    return DataLoader(train, batch_size, shuffle=True), DataLoader(val, 200)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    loss = hits = n = 0
    for x, y in loader:
        out = model(x)
        loss += F.cross_entropy(out, y, reduction="sum").item()
        hits += (out.argmax(1) == y).sum().item()
        n += len(y)
    return loss / n, hits / n


def stage(name, model, dataset, lr, epochs):
    train_loader, val_loader = loaders(dataset, 32)
    opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.05)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for x, y in train_loader:
            loss = F.cross_entropy(model(x), y, label_smoothing=0.05)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        vl, va = evaluate(model, val_loader)
        print(f"[{name}] epoch {epoch + 1} train loss {total / len(train_loader):.3f} val loss {vl:.3f} val acc {va:.3f}")


leaves = TensorDataset(*draw_leaves(1400, seed=1))
model = LeafNet()
stage("round 1", model, leaves, lr=1e-3, epochs=16)
stage("round 2", model, leaves, lr=1e-4, epochs=5)

field = DataLoader(TensorDataset(*draw_leaves(1000, seed=2)), 250)
print("collected in the field: loss %.3f acc %.3f" % evaluate(model, field))
