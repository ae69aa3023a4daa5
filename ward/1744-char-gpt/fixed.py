"""A small character-level GPT on Python source, after nanoGPT."""
import inspect
import math
import tarfile
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.nn import functional as F


@dataclass
class GPTConfig:
    block_size: int = 32
    n_layer: int = 2
    n_head: int = 4
    n_embd: int = 64
    batch_size: int = 16
    max_iters: int = 600
    warmup: int = 40
    eval_interval: int = 20
    eval_iters: int = 4
    lr: float = 4e-3
    seed: int = 1337


cfg = GPTConfig()
torch.manual_seed(cfg.seed)

text = inspect.getsource(tarfile)
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
n = int(0.9 * len(data))
splits = {"train": data[:n], "val": data[n:]}


def get_batch(split, generator=None):
    d = splits[split]
    ix = torch.randint(len(d) - cfg.block_size - 1, (cfg.batch_size,), generator=generator)
    x = torch.stack([d[i:i + cfg.block_size] for i in ix])
    y = torch.stack([d[i + 1:i + 1 + cfg.block_size] for i in ix])
    return x, y


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads = c.n_head
        self.ln1, self.ln2 = nn.LayerNorm(c.n_embd), nn.LayerNorm(c.n_embd)
        self.qkv, self.proj = nn.Linear(c.n_embd, 3 * c.n_embd), nn.Linear(c.n_embd, c.n_embd)
        self.mlp = nn.Sequential(nn.Linear(c.n_embd, 4 * c.n_embd), nn.GELU(), nn.Linear(4 * c.n_embd, c.n_embd))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, self.heads, C // self.heads).transpose(1, 2) for t in self.qkv(self.ln1(x)).split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(B, T, C))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, c, vocab):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, c.n_embd), nn.Embedding(c.block_size, c.n_embd)
        self.blocks = nn.Sequential(*[Block(c) for _ in range(c.n_layer)])
        self.ln, self.head = nn.LayerNorm(c.n_embd), nn.Linear(c.n_embd, vocab)

    def forward(self, idx, targets):
        x = self.tok(idx) + self.pos(torch.arange(idx.shape[1]))
        logits = self.head(self.ln(self.blocks(x)))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


@torch.no_grad()
def estimate_loss(model):
    """Mean loss over the same few batches of each split every time, so that evaluations can be compared."""
    model.eval()
    gen = torch.Generator().manual_seed(cfg.seed)
    out = {}
    for split in ("train", "val"):
        out[split] = sum(model(*get_batch(split, gen)).item() for _ in range(cfg.eval_iters)) / cfg.eval_iters
    model.train()
    return out


def lr_at(it):
    if it < cfg.warmup:
        return cfg.lr * (it + 1) / cfg.warmup
    return cfg.lr * (0.1 + 0.45 * (1 + math.cos(math.pi * (it - cfg.warmup) / (cfg.max_iters - cfg.warmup))))


model = GPT(cfg, len(chars))
optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, betas=(0.9, 0.95), weight_decay=0.1)
print(f"{len(data)} characters, vocabulary {len(chars)}, {sum(p.numel() for p in model.parameters())} parameters")
running = None
for it in range(cfg.max_iters + 1):
    if it % cfg.eval_interval == 0:
        losses = estimate_loss(model)
        if it % (2 * cfg.eval_interval) == 0:
            print(f"step {it}: train loss {losses['train']:.4f}, val loss {losses['val']:.4f}, running {running or 0:.4f}")
    for group in optimizer.param_groups:
        group["lr"] = lr_at(it)
    xb, yb = get_batch("train")
    loss = model(xb, yb)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    running = loss.item() if running is None else 0.95 * running + 0.05 * loss.item()
