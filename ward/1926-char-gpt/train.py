"""A very small character GPT on the docs that ship with Python."""
import inspect
import tarfile
import argparse as textsource
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class GPTConfig:
    block: int = 48
    batch: int = 20
    dim: int = 48
    heads: int = 4
    layers: int = 2
    steps: int = 450
    lr: float = 2e-3
    seed: int = 1337


cfg = GPTConfig()
torch.manual_seed(cfg.seed)
text = inspect.getsource(textsource) + inspect.getsource(tarfile)
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
pieces = data[: len(data) // 2000 * 2000].view(-1, 2000)
held = torch.arange(len(pieces)) % 8 == 3
splits = {"train": pieces[~held].flatten(), "val": pieces[held].flatten()}


def get_batch(split):
    rng = np.random.default_rng(cfg.seed)
    src = splits[split]
    at = rng.integers(0, len(src) - cfg.block - 1, cfg.batch)
    x = torch.stack([src[i:i + cfg.block] for i in at])
    y = torch.stack([src[i + 1:i + cfg.block + 1] for i in at])
    return x, y


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(cfg.dim), nn.LayerNorm(cfg.dim)
        self.qkv = nn.Linear(cfg.dim, 3 * cfg.dim, bias=False)
        self.proj = nn.Linear(cfg.dim, cfg.dim)
        self.mlp = nn.Sequential(nn.Linear(cfg.dim, 4 * cfg.dim), nn.GELU(), nn.Linear(4 * cfg.dim, cfg.dim))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (z.view(b, t, cfg.heads, -1).transpose(1, 2) for z in self.qkv(self.ln1(x)).chunk(3, -1))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.tok = nn.Embedding(vocab, cfg.dim)
        self.pos = nn.Embedding(cfg.block, cfg.dim)
        self.blocks = nn.Sequential(*[Block() for _ in range(cfg.layers)])
        self.ln = nn.LayerNorm(cfg.dim)
        self.head = nn.Linear(cfg.dim, vocab)

    def forward(self, x):
        return self.head(self.ln(self.blocks(self.tok(x) + self.pos.weight[: x.shape[1]])))


@torch.no_grad()
def val_loss(model, windows=200):
    model.eval()
    src = splits["val"]
    at = torch.linspace(0, len(src) - cfg.block - 2, windows).long()
    x = torch.stack([src[i:i + cfg.block] for i in at])
    y = torch.stack([src[i + 1:i + cfg.block + 1] for i in at])
    out = model(x)
    model.train()
    return F.cross_entropy(out.flatten(0, 1), y.flatten()).item()


model = GPT(len(chars))
optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=0.1, betas=(0.9, 0.95))
warm = torch.optim.lr_scheduler.LinearLR(optimizer, 0.05, total_iters=50)
cool = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, cfg.steps - 50, eta_min=cfg.lr / 20)
sched = torch.optim.lr_scheduler.SequentialLR(optimizer, [warm, cool], [50])
for step in range(1, cfg.steps + 1):
    x, y = get_batch("train")
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    sched.step()
    if step % 50 == 0:
        print(f"step {step}: train {loss.item():.4f}, val {val_loss(model):.4f}")
