"""Rewrite dates: '7 mar 1998' -> '1998-03-07'. Encoder-decoder with attention over the letters."""
import random

import torch
from torch import nn
import torch.nn.functional as F

MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
SYMBOLS = "^ 0123456789-abcdefghijklmnopqrstuvwxyz."
INDEX = {c: i for i, c in enumerate(SYMBOLS)}
EPOCHS = 6


def encode(text, width):
    return [INDEX[c] for c in text.ljust(width)]


def dates(n, seed):
    rng = random.Random(seed)
    source, target = [], []
    for _ in range(n):
        d, m, y = rng.randint(1, 28), rng.randint(1, 12), rng.randint(1950, 2029)
        source.append(encode(f"{d:02d} {MONTHS[m - 1]} {y}", 11))
        target.append(encode(f"^{y}-{m:02d}-{d:02d}", 11))
    return torch.tensor(source), torch.tensor(target)


class Rewriter(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(len(SYMBOLS), dim)
        self.src_pos = nn.Parameter(torch.randn(11, dim) * 0.5)
        self.tgt_pos = nn.Parameter(torch.randn(10, dim) * 0.5)
        self.mix = nn.Conv1d(dim, dim, 3, padding=1)
        self.attend = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.out = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, len(SYMBOLS)))

    def forward(self, source, previous):
        memory = self.embed(source) + self.src_pos
        memory = memory + F.relu(self.mix(memory.transpose(1, 2))).transpose(1, 2)
        query = self.embed(previous) + self.tgt_pos
        context, _ = self.attend(query, memory, memory, need_weights=False)
        return self.out(query + context)


def loss_and_hits(model, s, t):
    out = model(s, t[:, :-1])
    loss = F.cross_entropy(out.flatten(0, 1), t[:, 1:].flatten())
    return loss, (out.argmax(-1) == t[:, 1:]).all(1).float().mean().item()


def main():
    torch.manual_seed(0)
    s, t = dates(1280, seed=1)
    sv, tv = dates(300, seed=2)
    model = Rewriter()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(EPOCHS):
        model.train()
        for i, idx in enumerate(torch.randperm(len(s)).split(64)):
            loss, _ = loss_and_hits(model, s[idx], t[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if i % 10 == 9:
                print(f"epoch {epoch + 1} batch {i + 1}: loss {loss.item():.4f}")
        model.eval()
        with torch.no_grad():
            val, whole = loss_and_hits(model, sv, tv)
        print(f"epoch {epoch + 1}: val loss {val:.4f} whole dates right {whole:.3f}")


main()
