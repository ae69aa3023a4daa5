"""Daily energy demand of a building from the last 24 hours: a small transformer encoder as regressor."""
import math
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Config:
    dim: int = 24
    heads: int = 3
    layers: int = 1
    lr: float = 2e-3
    decay_epochs: int = 2
    epochs: int = 10
    batch_size: int = 50
    seed: int = 5


def make_days(n, g):
    hour = torch.arange(24.0)
    base = torch.rand(n, 1, generator=g)
    peak = 6 + 12 * torch.rand(n, 1, generator=g)
    height = torch.rand(n, 1, generator=g) * 2
    load = base + height * torch.exp(-0.5 * ((hour - peak) / 2) ** 2) + 0.1 * torch.randn(n, 24, generator=g)
    temp = torch.randn(n, 1, generator=g) + torch.sin(2 * math.pi * (hour - 9) / 24) + 0.1 * torch.randn(n, 24, generator=g)
    demand = 1.2 * base + 0.8 * height * torch.cos((peak - 12) / 4) + 0.4 * temp.mean(1, keepdim=True).abs()
    x = torch.stack([(load - 0.9) / 0.6, temp], dim=2)
    return x, ((demand - 1.4) / 0.8).squeeze(1) + 0.05 * torch.randn(n, generator=g)


class DemandFormer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.inp = nn.Linear(2, cfg.dim)
        self.hours = nn.Parameter(0.1 * torch.randn(24, cfg.dim))
        layer = nn.TransformerEncoderLayer(cfg.dim, cfg.heads, 2 * cfg.dim, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, cfg.layers, enable_nested_tensor=False)
        self.out = nn.Sequential(nn.LayerNorm(cfg.dim), nn.Linear(cfg.dim, 1))

    def forward(self, x):
        return self.out(self.encoder(self.inp(x) + self.hours).mean(1)).squeeze(1)


def train(cfg):
    torch.manual_seed(cfg.seed)
    g = torch.Generator().manual_seed(cfg.seed)
    x, y = make_days(1000, g)
    x_val, y_val = make_days(400, g)
    model = DemandFormer(cfg)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=cfg.decay_epochs, power=1.0)
    for epoch in range(cfg.epochs):
        model.train()
        mean_loss = 0.0
        for idx in torch.randperm(len(y)).split(cfg.batch_size):
            loss = nn.functional.mse_loss(model(x[idx]), y[idx])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            mean_loss += loss.item() * len(idx) / len(y)
        scheduler.step()
        model.eval()
        with torch.no_grad():
            val = nn.functional.mse_loss(model(x_val), y_val).item()
        print(f"epoch {epoch:2d}: mse {mean_loss:.4f}, val mse {val:.4f}")


train(Config())
