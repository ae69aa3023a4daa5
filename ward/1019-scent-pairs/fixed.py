"""Perfume descriptions <-> chromatograms, two towers and a symmetric contrastive loss (after CLIP)."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

NOTES, SHARES, PEAKS = 120, 6, 80


class Perfumes(Dataset):
    """A perfume is a handful of notes; its chromatogram is the sum of the notes' peaks through a detector that saturates."""

    def __init__(self, n, seed):
        table = torch.randn(NOTES, PEAKS, generator=torch.Generator().manual_seed(99)).relu()
        g = torch.Generator().manual_seed(seed)
        self.notes = torch.stack([torch.randperm(NOTES, generator=g)[:SHARES] for _ in range(n)])
        weight = 0.5 + torch.rand(n, SHARES, generator=g)
        trace = (table[self.notes] * weight.unsqueeze(-1)).sum(1)
        trace = torch.tanh(trace / 4) + 0.05 * torch.randn(n, PEAKS, generator=g)
        self.trace = (trace - 0.5) / 0.25

    def __len__(self):
        return len(self.notes)

    def __getitem__(self, i):
        return self.notes[i], self.trace[i]


class TextTower(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.embed = nn.EmbeddingBag(NOTES, 64, mode="sum")
        self.proj = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, notes):
        return F.normalize(self.proj(self.embed(notes)), dim=-1)


class TraceTower(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Sequential(nn.Linear(PEAKS, 96), nn.ReLU(), nn.Linear(96, dim))

    def forward(self, trace):
        return F.normalize(self.proj(trace), dim=-1)


class ScentCLIP(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.text, self.trace = TextTower(dim), TraceTower(dim)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(10.0)))

    def forward(self, notes, trace):
        logits = self.logit_scale.exp() * self.text(notes) @ self.trace(trace).T
        target = torch.arange(len(notes))
        return (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2

    @torch.no_grad()
    def recall_at_1(self, notes, trace):
        sim = self.text(notes) @ self.trace(trace).T
        return (sim.argmax(1) == torch.arange(len(notes))).float().mean().item()


EPOCHS = 12
torch.manual_seed(50)
train_loader = DataLoader(Perfumes(1600, 1), batch_size=32, shuffle=True, drop_last=True)
val_loader = DataLoader(Perfumes(256, 2), batch_size=32)
model = ScentCLIP()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(EPOCHS):
    model.train()
    recent = []
    for i, (notes, trace) in enumerate(train_loader, 1):
        loss = model(notes, trace)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recent.append(loss.item())
        if i % 25 == 0:
            print(f"epoch {epoch} [{i}/{len(train_loader)}] contrastive loss {sum(recent) / len(recent):.4f}")
            recent = []
    model.eval()
    with torch.no_grad():
        val = sum(model(n, t).item() for n, t in val_loader) / len(val_loader)
        r1 = sum(model.recall_at_1(n, t) for n, t in val_loader) / len(val_loader)
    print(f"epoch {epoch} done: val loss {val:.4f}, recall@1 in 32 {r1:.3f}")
