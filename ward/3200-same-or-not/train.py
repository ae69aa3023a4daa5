"""Siamese network: do two pictures show the same digit?  (contrastive loss, Hadsell et al. 2006)"""
import random

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, x, y, n_pairs, seed):
        self.x, self.y = x, y
        rnd = random.Random(seed)
        members = {c: [i for i, t in enumerate(y) if t == c] for c in range(10)}
        self.pairs = []
        for k in range(n_pairs):
            if k % 2:
                pool = members[rnd.randrange(10)]
                self.pairs.append((rnd.choice(pool), rnd.choice(pool), 1.0))
            else:
                a, b = rnd.sample(range(10), 2)
                self.pairs.append((rnd.choice(members[a]), rnd.choice(members[b]), 0.0))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, k):
        i, j, same = self.pairs[k]
        return self.x[i], self.x[j], torch.tensor(same)


class Embedder(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU())
        self.fc = nn.Linear(16 * 16, dim)

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin

    def distance(self, a, b):
        return torch.sqrt((a - b).pow(2).sum(dim=1))

    def forward(self, a, b, same):
        d = self.distance(a, b)
        return (same * d.pow(2) + (1 - same) * (self.margin - d).clamp(min=0).pow(2)).mean()


def evaluate(net, loss_fn, loader):
    net.eval()
    losses, hits = [], []
    with torch.no_grad():
        for a, b, same in loader:
            ea, eb = net(a), net(b)
            losses.append(loss_fn(ea, eb, same).item())
            hits.append(((loss_fn.distance(ea, eb) < loss_fn.margin / 2) == (same > 0.5)).float().mean().item())
    return sum(losses) / len(losses), sum(hits) / len(hits)


if __name__ == "__main__":
    torch.manual_seed(0)
    d = load_digits()
    x = torch.tensor(d.images, dtype=torch.float32)[:, None] / 8 - 1
    tr, va = train_test_split(range(len(x)), test_size=0.2, random_state=5, stratify=d.target)
    train = DataLoader(Pairs(x[tr], d.target[tr], 6000, 1), batch_size=40, shuffle=True)
    valid = DataLoader(Pairs(x[va], d.target[va], 1500, 2), batch_size=250)
    net, loss_fn = Embedder(), ContrastiveLoss()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    for epoch in range(10):
        net.train()
        total = 0.0
        for a, b, same in train:
            loss = loss_fn(net(a), net(b), same)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step()
        v, acc = evaluate(net, loss_fn, valid)
        print(f"epoch {epoch:2d}: train {total / len(train):.4f}  valid {v:.4f}  pair accuracy {acc:.4f}")
