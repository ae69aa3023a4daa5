from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Season:
    traps: int = 2400
    species: int = 6
    traits: int = 16
    seed: int = 4


def collect(cfg):
    g = torch.Generator().manual_seed(cfg.seed)
    kind = torch.randint(0, cfg.species, (cfg.traps,), generator=g)
    typical = torch.randn(cfg.species, cfg.traits, generator=g) * 1.6
    moths = typical[kind] + torch.randn(cfg.traps, cfg.traits, generator=g)
    mixed_up = torch.rand(cfg.traps, generator=g) < 0.35
    named = torch.where(mixed_up, (kind + 3) % cfg.species, kind)
    return moths, named


class Identifier(nn.Module):
    def __init__(self, traits, species):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(traits, 128), nn.GELU(), nn.Linear(128, 128), nn.GELU())
        self.out = nn.Linear(128, species)

    def forward(self, x):
        return self.out(self.body(x))

    def fit(self, x, y, vx, vy, epochs=20):
        opt = torch.optim.AdamW(self.parameters(), lr=2e-3)
        for epoch in range(epochs):
            self.train()
            for ids in torch.randperm(len(y)).split(64):
                loss = F.cross_entropy(self(x[ids]), y[ids])
                opt.zero_grad()
                loss.backward()
                opt.step()
            self.eval()
            with torch.no_grad():
                out = self(vx)
            print(f"{epoch + 1:2d} loss {loss.item():.3f} val {F.cross_entropy(out, vy).item():.3f} acc {(out.argmax(1) == vy).float().mean().item():.3f}")


torch.manual_seed(1)
cfg = Season()
moths, named = collect(cfg)
Identifier(cfg.traits, cfg.species).fit(moths[:1900], named[:1900], moths[1900:], named[1900:])
