"""Ratings of market stalls: user and stall factors plus biases."""
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Config:
    users: int = 240
    stalls: int = 120
    ratings: int = 9000
    factors: int = 2
    lr: float = 1e-2
    l2: float = 0.14
    batch: int = 300
    epochs: int = 18
    seed: int = 21


def simulate(cfg):
    """Two tastes explain most of what people like; the rest is mood."""
    pu = torch.randn(cfg.users, 2) * 0.7
    qi = torch.randn(cfg.stalls, 2) * 0.7
    bu, bi = 0.3 * torch.randn(cfg.users), 0.5 * torch.randn(cfg.stalls)
    cells = torch.randperm(cfg.users * cfg.stalls)[:cfg.ratings]
    u, i = cells // cfg.stalls, cells % cfg.stalls
    r = (pu[u] * qi[i]).sum(1) + bu[u] + bi[i] + 0.8 * torch.randn(cfg.ratings)
    return u, i, r


class Factors(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.p = nn.Embedding(cfg.users, cfg.factors)
        self.q = nn.Embedding(cfg.stalls, cfg.factors)
        self.bu = nn.Embedding(cfg.users, 1)
        self.bi = nn.Embedding(cfg.stalls, 1)
        for table in (self.p, self.q):
            nn.init.normal_(table.weight, std=0.1)
        for table in (self.bu, self.bi):
            nn.init.zeros_(table.weight)

    def forward(self, u, i):
        p, q = self.p(u), self.q(i)
        score = (p * q).sum(1) + self.bu(u)[:, 0] + self.bi(i)[:, 0]
        return score, (p ** 2).sum(1).mean() + (q ** 2).sum(1).mean()


def run(cfg):
    torch.manual_seed(cfg.seed)
    u, i, r = simulate(cfg)
    cut = int(0.8 * cfg.ratings)
    model = Factors(cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        perm = torch.randperm(cut)
        sse = 0.0
        for k in range(0, cut, cfg.batch):
            b = perm[k:k + cfg.batch]
            score, size = model(u[b], i[b])
            mse = ((score - r[b]) ** 2).mean()
            optimizer.zero_grad()
            (mse + cfg.l2 * size).backward()
            optimizer.step()
            sse += mse.item() * len(b)
        with torch.no_grad():
            held_out, _ = model(u[cut:], i[cut:])
            val = ((held_out - r[cut:]) ** 2).mean().item()
        print(f"epoch {epoch + 1:2d}: train mse {sse / cut:.4f}, held-out mse {val:.4f}")


run(Config())
