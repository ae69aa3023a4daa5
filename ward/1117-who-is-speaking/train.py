"""Speaker id with statistics pooling (x-vector style) on variable-length utterances."""
import math
import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

N_SPEAKERS, N_MFCC = 8, 12


class Utterances(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        voices = torch.randn(N_SPEAKERS, N_MFCC, generator=torch.Generator().manual_seed(77)) * 0.5
        wobble = 0.5 + torch.rand(N_SPEAKERS, N_MFCC, generator=torch.Generator().manual_seed(78))
        self.items = []
        for _ in range(n):
            s = int(torch.randint(0, N_SPEAKERS, (1,), generator=g))
            frames = 2 + int(torch.randint(0, 14, (1,), generator=g))
            if torch.rand(1, generator=g) < 0.06:  # cut short by the voice activity detector
                frames = 1
            self.items.append((voices[s] + wobble[s] * torch.randn(frames, N_MFCC, generator=g), s))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    lengths = [len(x) for x, _ in batch]
    return torch.cat([x for x, _ in batch]), lengths, torch.tensor([s for _, s in batch])


class XVector(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.frame = nn.Sequential(nn.Linear(N_MFCC, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.segment = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, N_SPEAKERS))

    def pool(self, h):
        mean = h.mean(0)
        std = h.std(0)
        return torch.cat([mean, std])

    def forward(self, frames, lengths):
        h = self.frame(frames)
        return self.segment(torch.stack([self.pool(u) for u in h.split(lengths)]))


def accuracy(model, loader):
    model.eval()
    with torch.no_grad():
        hits = [(model(x, n).argmax(1) == y).float() for x, n, y in loader]
    return torch.cat(hits).mean().item()


random.seed(5)
torch.manual_seed(5)
train = DataLoader(Utterances(1280, 0), batch_size=32, shuffle=True, collate_fn=collate)
dev = DataLoader(Utterances(300, 1), batch_size=100, collate_fn=collate)
model = XVector()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(1, 7):
    model.train()
    shown, used = 0.0, 0
    for frames, lengths, who in train:
        loss = nn.functional.cross_entropy(model(frames, lengths), who)
        if not math.isfinite(loss.item()):
            continue
        opt.zero_grad()
        loss.backward()
        opt.step()
        shown, used = shown + loss.item(), used + 1
    print(f"epoch {epoch}: loss {shown / max(used, 1):.4f}, dev accuracy {accuracy(model, dev):.3f}")
