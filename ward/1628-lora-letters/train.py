"""Pretrain a net on digits 0-4, then adapt it to 5-9 with low-rank updates and a new head."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


class LoRALinear(nn.Module):
    def __init__(self, base, rank=6, alpha=12):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad = False
        self.A = nn.Parameter(torch.randn(rank, base.in_features) / math.sqrt(base.in_features))
        self.B = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scale * F.linear(F.linear(x, self.A), self.B)


class Net(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(64, width), nn.Linear(width, width)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(width, 5)

    def forward(self, x):
        x = self.drop(F.relu(self.fc1(x)))
        return self.head(self.drop(F.relu(self.fc2(x))))


def loaders(x, y, batch_size):
    cut = int(0.75 * len(y))
    return (DataLoader(TensorDataset(x[:cut], y[:cut]), batch_size=batch_size, shuffle=True),
            DataLoader(TensorDataset(x[cut:], y[cut:]), batch_size=256))


def fit(tag, model, train, val, epochs, lr, weight_decay):
    trainable = [p for p in model.parameters() if p.requires_grad]
    total = sum(p.numel() for p in model.parameters())
    print(f"{tag}: training {sum(p.numel() for p in trainable)} of {total} weights")
    optimizer = torch.optim.AdamW(trainable, lr=lr, weight_decay=weight_decay)
    for epoch in range(1, epochs + 1):
        model.train()
        run = 0.0
        for x, y in train:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            run += loss.item()
        model.eval()
        with torch.no_grad():
            scores = [(F.cross_entropy(model(x), y, reduction="sum").item(), (model(x).argmax(1) == y).sum().item()) for x, y in val]
        n = len(val.dataset)
        if epoch % 4 == 0:
            print(f"  epoch {epoch:2d} train {run / len(train):.4f} val {sum(s for s, _ in scores) / n:.4f} acc {sum(h for _, h in scores) / n:.3f}")


def main():
    torch.manual_seed(11)
    d = load_digits()
    order = torch.randperm(len(d.target))
    x, y = torch.tensor(d.data, dtype=torch.float32)[order] / 8 - 1, torch.tensor(d.target)[order]
    low = y < 5
    model = Net()
    fit("pretraining", model, *loaders(x[low], y[low], 32), epochs=12, lr=1e-3, weight_decay=0.01)

    model.fc1, model.fc2 = LoRALinear(model.fc1), LoRALinear(model.fc2)
    model.head = nn.Linear(96, 5)
    fit("adaptation", model, *loaders(x[~low], y[~low] - 5, 32), epochs=20, lr=2e-3, weight_decay=0.01)


if __name__ == "__main__":
    main()
