"""Masked modelling of tokenised temperature traces: fill the gaps of a sensor that drops out now and then."""
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


@dataclass
class Settings:
    levels: int = 16
    length: int = 24
    dim: int = 32
    layers: int = 2
    mask_rate: float = 0.2
    batch: int = 32
    steps: int = 400
    peak_lr: float = 4e-3
    betas: tuple = field(default=(0.9, 0.98))


def traces(n, cfg, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(cfg.length)
    x = sum(rng.normal(0, 1, (n, 1)) * np.sin(2 * np.pi * t * rng.uniform(0.02, 0.09, (n, 1)) + rng.uniform(0, 6.3, (n, 1))) for _ in range(3))
    x = x + 0.05 * rng.normal(size=x.shape)
    edges = np.quantile(x, np.linspace(0, 1, cfg.levels + 1)[1:-1])
    return torch.from_numpy(np.digitize(x, edges))


class SkipInitLayer(nn.Module):
    """Two-way recurrence and MLP branches, each behind a gain that starts at zero."""

    def __init__(self, cfg):
        super().__init__()
        self.rnn = nn.GRU(cfg.dim, cfg.dim // 2, batch_first=True, bidirectional=True)
        self.mlp = nn.Sequential(nn.Linear(cfg.dim, 2 * cfg.dim), nn.GELU(), nn.Linear(2 * cfg.dim, cfg.dim))
        self.ln1, self.ln2 = nn.LayerNorm(cfg.dim), nn.LayerNorm(cfg.dim)
        self.gain = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        x = x + self.gain[0] * self.rnn(self.ln1(x))[0]
        return x + self.gain[1] * self.mlp(self.ln2(x))


class GapFiller(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tok = nn.Embedding(cfg.levels + 1, cfg.dim)          # last id = [MASK]
        self.pos = nn.Parameter(torch.randn(cfg.length, cfg.dim) * 0.3)
        self.layers = nn.ModuleList([SkipInitLayer(cfg) for _ in range(cfg.layers)])
        self.norm = nn.LayerNorm(cfg.dim)
        self.out = nn.Linear(cfg.dim, cfg.levels)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, ids):
        x = self.tok(ids) + self.pos
        for layer in self.layers:
            x = layer(x)
        return self.out(self.norm(x))


def corrupt(ids, cfg, gen):
    hide = torch.rand(ids.shape, generator=gen) < cfg.mask_rate
    return ids.masked_fill(hide, cfg.levels), hide


def main():
    cfg = Settings()
    torch.manual_seed(50)
    gen = torch.Generator().manual_seed(51)
    train, val = traces(4000, cfg, 1), traces(400, cfg, 2)
    val_in, val_hide = corrupt(val, cfg, torch.Generator().manual_seed(52))
    model = GapFiller(cfg)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.peak_lr, betas=cfg.betas, weight_decay=0.01)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, cfg.peak_lr, total_steps=cfg.steps, pct_start=0.1)
    smooth = None
    for step in range(1, cfg.steps + 1):
        ids = train[torch.randint(len(train), (cfg.batch,), generator=gen)]
        seen, hide = corrupt(ids, cfg, gen)
        loss = F.cross_entropy(model(seen)[hide], ids[hide])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        smooth = loss.item() if smooth is None else 0.95 * smooth + 0.05 * loss.item()
        if step % 50 == 0:
            model.eval()
            with torch.no_grad():
                out = model(val_in)[val_hide]
                target = val[val_hide]
                near = ((out.argmax(-1) - target).abs() <= 1).float().mean().item()
                v = F.cross_entropy(out, target).item()
            model.train()
            print(f"step {step:4d} loss {smooth:.3f} val {v:.3f} within one level {near:.3f}")


main()
