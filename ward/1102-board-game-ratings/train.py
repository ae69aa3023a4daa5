from dataclasses import dataclass

import numpy as np
import torch
from torch import nn


@dataclass
class Config:
    users: int = 300
    games: int = 200
    dim: int = 8
    ratings: int = 24000
    batch: int = 256
    epochs: int = 6
    lr: float = 1e-2
    weight_decay: float = 1e-4
    seed: int = 12


def simulate(cfg):
    rng = np.random.default_rng(cfg.seed)
    taste = rng.normal(size=(cfg.users, 3))
    style = rng.normal(size=(cfg.games, 3))
    quality = 0.7 * rng.normal(size=cfg.games)
    mood = 0.5 * rng.normal(size=cfg.users)
    u = rng.integers(0, cfg.users, cfg.ratings)
    g = rng.integers(0, cfg.games, cfg.ratings)
    score = (taste[u] * style[g]).sum(1) * 0.6 + quality[g] + mood[u] + 0.3 * rng.normal(size=cfg.ratings)
    return torch.from_numpy(u), torch.from_numpy(g), torch.from_numpy(score).float()


class Recommender(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.user = nn.Embedding(cfg.users, cfg.dim)
        self.game = nn.Embedding(cfg.games, cfg.dim)
        self.user_bias = nn.Embedding(cfg.users, 1)
        self.game_bias = nn.Embedding(cfg.games, 1)
        self.mlp = nn.Sequential(nn.Linear(2 * cfg.dim, 16), nn.ReLU(), nn.Linear(16, 1))
        for emb in (self.user, self.game):
            nn.init.normal_(emb.weight, std=0.3)
        nn.init.zeros_(self.user_bias.weight)
        nn.init.zeros_(self.game_bias.weight)

    def forward(self, u, g):
        pu, qg = self.user(u), self.game(g)
        dot = (pu * qg).sum(1)
        deep = self.mlp(torch.cat([pu, qg], 1)).squeeze(1)
        return dot + deep + self.user_bias(u).squeeze(1) + self.game_bias(g).squeeze(1)


def configure_optimizer(model, cfg):
    decay, no_decay = [], []
    for module in model.modules():
        if isinstance(module, nn.Linear):
            decay.append(module.weight)
            no_decay.append(module.bias)
    groups = [{"params": decay, "weight_decay": cfg.weight_decay}, {"params": no_decay, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=cfg.lr)


def main(cfg):
    torch.manual_seed(cfg.seed)
    u, g, r = simulate(cfg)
    cut = int(0.85 * len(r))
    model = Recommender(cfg)
    optimizer = configure_optimizer(model, cfg)
    for epoch in range(cfg.epochs):
        losses = []
        for idx in torch.randperm(cut).split(cfg.batch):
            loss = nn.functional.mse_loss(model(u[idx], g[idx]), r[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        with torch.no_grad():
            rmse = nn.functional.mse_loss(model(u[cut:], g[cut:]), r[cut:]).sqrt().item()
        print(f"epoch {epoch}: train mse {np.mean(losses):.3f}  held-out rmse {rmse:.3f}")


if __name__ == "__main__":
    main(Config())
