"""Gestures from a wrist accelerometer: sequences of different length, packed GRU."""
import math
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence
from torch.utils.data import DataLoader, Dataset

GESTURES = ["circle", "wave", "knock", "twist", "rest"]


class GestureSet(Dataset):
    def __init__(self, n, seed):
        r = random.Random(seed)
        g = torch.Generator().manual_seed(seed)
        self.rows = []
        for _ in range(n):
            k = r.randrange(len(GESTURES))
            T = r.randint(16, 32)
            t = torch.linspace(0, 2 * math.pi * r.uniform(1.2, 2.2), T) + r.uniform(0, 6)
            amp = r.uniform(0.8, 1.3)
            zero = torch.zeros(T)
            if k == 0:
                xyz = [amp * torch.cos(t), amp * torch.sin(t), zero]
            elif k == 1:
                xyz = [amp * torch.sin(t), zero, 0.3 * torch.sin(2 * t)]
            elif k == 2:
                xyz = [zero, zero, 1.5 * amp * (torch.sin(2 * t) > 0.6).float()]
            elif k == 3:
                xyz = [zero, amp * torch.sin(t), amp * torch.sin(t + 0.5)]
            else:
                xyz = [zero, zero, zero]
            seq = torch.stack(xyz, 1) + 0.35 * torch.randn(T, 3, generator=g)
            self.rows.append((seq, k))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    lengths = torch.tensor([len(s) for s, _ in rows])
    return pad_sequence([s for s, _ in rows], batch_first=True), lengths, torch.tensor([k for _, k in rows])


class GestureNet(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.gru = nn.GRU(3, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Sequential(nn.Linear(2 * hidden, 32), nn.ReLU(), nn.Linear(32, len(GESTURES)))

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        _, h = self.gru(packed)
        h = h.contiguous().view(x.size(0), -1)      # both directions side by side
        return self.fc(h)


def run_epoch(model, loader, optimizer=None):
    model.train(optimizer is not None)
    loss_sum = hits = n = 0
    with torch.set_grad_enabled(optimizer is not None):
        for x, lengths, y in loader:
            out = model(x, lengths)
            loss = nn.functional.cross_entropy(out, y)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * len(y)
            hits += (out.argmax(1) == y).sum().item()
            n += len(y)
    return loss_sum / n, hits / n


if __name__ == "__main__":
    torch.manual_seed(19)
    train_dl = DataLoader(GestureSet(1200, 1), batch_size=32, shuffle=True, collate_fn=collate)
    test_dl = DataLoader(GestureSet(400, 2), batch_size=100, collate_fn=collate)
    model = GestureNet()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
    for epoch in range(1, 10):
        tl, ta = run_epoch(model, train_dl, optimizer)
        vl, va = run_epoch(model, test_dl)
        print(f"Epoch {epoch:02d}  train loss {tl:.3f} acc {ta:.3f}   test loss {vl:.3f} acc {va:.3f}")
