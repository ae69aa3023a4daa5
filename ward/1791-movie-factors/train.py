import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn


@dataclass
class Config:
    users: int = 400
    movies: int = 250
    factors: int = 8
    ratings: int = 40000
    epochs: int = 16
    batch: int = 320
    lr: float = 8e-3
    l2: float = 2e-4
    seed: int = 12


def sample_ratings(cfg):
    rng = np.random.default_rng(cfg.seed)
    taste = rng.normal(size=(cfg.users, 3))
    genre = rng.normal(size=(cfg.movies, 3))
    quality = 0.3 * rng.normal(size=cfg.movies)
    full = 3.4 + quality[None] + 0.5 * taste @ genre.T
    pick = rng.permutation(cfg.users * cfg.movies)[:cfg.ratings]
    u, m = pick // cfg.movies, pick % cfg.movies
    r = np.clip(full[u, m] + 0.3 * rng.normal(size=cfg.ratings), 0.5, 5.0)
    return torch.from_numpy(u), torch.from_numpy(m), torch.tensor(r, dtype=torch.float32)


class Factorisation(nn.Module):
    """r(u, m) = <p_u, q_m> + b_u + b_m; the dot product starts at the mean rating."""

    def __init__(self, cfg, mean_rating):
        super().__init__()
        self.p = nn.Embedding(cfg.users, cfg.factors)
        self.q = nn.Embedding(cfg.movies, cfg.factors)
        self.bu = nn.Embedding(cfg.users, 1)
        self.bm = nn.Embedding(cfg.movies, 1)
        start = math.sqrt(mean_rating / cfg.factors)
        for emb in (self.p, self.q):
            nn.init.constant_(emb.weight, start)
        for emb in (self.bu, self.bm):
            nn.init.zeros_(emb.weight)

    def forward(self, u, m):
        dot = (self.p(u) * self.q(m)).sum(1)
        return dot + self.bu(u)[:, 0] + self.bm(m)[:, 0]


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.manual_seed(cfg.seed)
        u, m, r = sample_ratings(cfg)
        cut = int(0.85 * len(r))
        self.train_set = (u[:cut], m[:cut], r[:cut])
        self.test_set = (u[cut:], m[cut:], r[cut:])
        self.model = Factorisation(cfg, self.train_set[2].mean().item())
        self.opt = torch.optim.Adam(self.model.parameters(), lr=cfg.lr, weight_decay=cfg.l2)
        self.loss = nn.MSELoss()

    def epoch(self):
        u, m, r = self.train_set
        self.model.train()
        total = 0.0
        for b in torch.randperm(len(r)).split(self.cfg.batch):
            self.opt.zero_grad()
            loss = self.loss(self.model(u[b], m[b]), r[b])
            loss.backward()
            self.opt.step()
            total += loss.item() * len(b)
        return math.sqrt(total / len(r))

    @torch.no_grad()
    def test(self):
        self.model.eval()
        u, m, r = self.test_set
        return math.sqrt(self.loss(self.model(u, m), r).item())

    def fit(self):
        std = self.train_set[2].std().item()
        print(f"ratings: {len(self.train_set[2])} train, std {std:.3f}")
        for e in range(1, self.cfg.epochs + 1):
            tr = self.epoch()
            if e % 2 == 0:
                print(f"epoch {e:2d}  train rmse {tr:.4f}  test rmse {self.test():.4f}")


if __name__ == "__main__":
    Trainer(Config()).fit()
