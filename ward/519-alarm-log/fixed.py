import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class AlarmLog(Dataset):
    """A log of events; the class is the code of the event that follows the alarm token."""

    ALARM = 0

    def __init__(self, n, length=24, codes=6, seed=0):
        rng = random.Random(seed)
        self.rows = []
        for _ in range(n):
            ids = [rng.randint(1, codes) for _ in range(length)]
            at = rng.randrange(length - 1)
            ids[at] = self.ALARM
            self.rows.append((torch.tensor(ids), ids[at + 1] - 1))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class AttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(dim, dim), nn.Tanh(), nn.Linear(dim, 1))

    def forward(self, h):                                   # (batch, time, dim)
        weights = torch.softmax(self.score(h), dim=1)
        return (weights * h).sum(dim=1)


class LogReader(nn.Module):
    def __init__(self, codes=6, dim=32):
        super().__init__()
        self.embed = nn.Embedding(codes + 1, dim)
        self.conv = nn.Conv1d(dim, dim, kernel_size=3, padding=1)
        self.pool = AttentionPool(dim)
        self.head = nn.Linear(dim, codes)

    def forward(self, ids):
        h = torch.relu(self.conv(self.embed(ids).transpose(1, 2))).transpose(1, 2)
        return self.head(self.pool(h))


def run_epoch(model, loader, optimizer=None):
    model.train(optimizer is not None)
    loss_sum = hits = n = 0
    with torch.set_grad_enabled(optimizer is not None):
        for ids, y in loader:
            out = model(ids)
            loss = nn.functional.cross_entropy(out, y)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss_sum, hits, n = loss_sum + loss.item() * len(y), hits + (out.argmax(1) == y).sum().item(), n + len(y)
    return loss_sum / n, hits / n


torch.manual_seed(0)
train_loader = DataLoader(AlarmLog(1800, seed=1), batch_size=36, shuffle=True)
val_loader = DataLoader(AlarmLog(300, seed=2), batch_size=1)
model = LogReader()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(1, 7):
    tl, ta = run_epoch(model, train_loader, optimizer)
    vl, va = run_epoch(model, val_loader)
    print(f"epoch {epoch} | train loss {tl:.4f} acc {ta:.3f} | val loss {vl:.4f} acc {va:.3f}")
