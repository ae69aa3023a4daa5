"""Multiple-instance learning: a slide is positive when at least one of its tiles shows the pattern."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

TILES, DIM = 16, 24


def slides(n, seed):
    rng = np.random.default_rng(seed)
    marker = np.random.default_rng(77).normal(size=DIM)
    marker *= 5.0 / np.linalg.norm(marker)
    label = rng.integers(0, 2, n)
    tiles = rng.normal(size=(n, TILES, DIM))
    for i in np.flatnonzero(label):
        hits = rng.choice(TILES, rng.integers(1, 4), replace=False)
        tiles[i, hits] += marker
    return TensorDataset(torch.tensor(tiles, dtype=torch.float32), torch.tensor(label, dtype=torch.float32))


class AttentionPool(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.value, self.gate, self.score = nn.Linear(dim, hidden), nn.Linear(dim, hidden), nn.Linear(hidden, 1)

    def forward(self, h):                                   # (slides, tiles, dim)
        a = self.score(torch.tanh(self.value(h)) * torch.sigmoid(self.gate(h)))
        w = torch.softmax(a, dim=1)
        return (w * h).sum(dim=1), w.squeeze(-1)


class SlideNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.tile = nn.Sequential(nn.Linear(DIM, 32), nn.ReLU())
        self.pool = AttentionPool(32, 16)
        self.head = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        pooled, weights = self.pool(self.tile(x))
        return self.head(pooled).squeeze(-1), weights


class Runner:
    def __init__(self, epochs=8):
        torch.manual_seed(18)
        self.train_dl = DataLoader(slides(5000, 1), batch_size=32, shuffle=True)
        self.val_dl = DataLoader(slides(800, 2), batch_size=1)
        self.net, self.epochs = SlideNet(), epochs
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3, weight_decay=1e-4)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, epochs)
        self.loss = nn.BCEWithLogitsLoss()

    def fit_epoch(self):
        self.net.train()
        total = 0.0
        for x, y in self.train_dl:
            out, _ = self.net(x)
            loss = self.loss(out, y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            total += loss.item() / len(self.train_dl)
        self.sched.step()
        return total

    def score(self):
        self.net.eval()
        loss = hits = 0.0
        with torch.no_grad():
            for x, y in self.val_dl:                        # one slide at a time, as in the clinic
                out, _ = self.net(x)
                loss += self.loss(out, y).item() / len(self.val_dl)
                hits += ((out > 0) == (y > 0.5)).float().mean().item() / len(self.val_dl)
        return loss, hits

    def run(self):
        for epoch in range(self.epochs):
            print("epoch %2d  train %.4f  val %.4f  acc %.3f" % ((epoch + 1, self.fit_epoch()) + self.score()))


Runner().run()
