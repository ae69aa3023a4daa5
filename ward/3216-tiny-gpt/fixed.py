"""A small GPT on arithmetic expressions: '37+58=95;' and so on."""
import math
import random
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class GPTConfig:
    block_size: int = 64
    vocab_size: int = 16
    n_layer: int = 2
    n_head: int = 4
    n_embd: int = 64


class CausalSelfAttention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c_attn = nn.Linear(c.n_embd, 3 * c.n_embd)
        self.c_proj = nn.Linear(c.n_embd, c.n_embd)
        self.n_head = c.n_head

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (z.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for z in self.c_attn(x).split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(c.n_embd), nn.LayerNorm(c.n_embd)
        self.attn = CausalSelfAttention(c)
        self.mlp = nn.Sequential(nn.Linear(c.n_embd, 4 * c.n_embd), nn.GELU(), nn.Linear(4 * c.n_embd, c.n_embd))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.config = c
        self.wte = nn.Embedding(c.vocab_size, c.n_embd)
        self.wpe = nn.Embedding(c.block_size, c.n_embd)
        self.h = nn.ModuleList(Block(c) for _ in range(c.n_layer))
        self.ln_f = nn.LayerNorm(c.n_embd)
        self.lm_head = nn.Linear(c.n_embd, c.vocab_size, bias=False)
        self.apply(self._init_weights)
        self.lm_head.weight = self.wte.weight

    def _init_weights(self, module):
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, idx, targets=None):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        loss = None if targets is None else F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))
        return logits, loss


CHARS = "0123456789+-=; "


def expressions(n, rng):
    out = []
    for _ in range(n):
        a, b = rng.randrange(100), rng.randrange(100)
        out.append(f"{a}+{b}={a + b};" if rng.random() < 0.5 else f"{a}-{b}={a - b};")
    return torch.tensor([CHARS.index(c) for c in "".join(out)])


def get_batch(data, size, T):
    ix = torch.randint(len(data) - T - 1, (size,)).tolist()
    return torch.stack([data[i:i + T] for i in ix]), torch.stack([data[i + 1:i + 1 + T] for i in ix])


@torch.no_grad()
def estimate_loss(model, data, T):
    model.eval()
    n = (len(data) - 1) // T
    _, loss = model(data[:n * T].view(n, T), data[1:n * T + 1].view(n, T))
    model.train()
    return loss.item()


max_iters, warmup, max_lr = 720, 60, 2e-3


def get_lr(it):
    if it < warmup:
        return max_lr * (it + 1) / warmup
    return 0.02 * max_lr + 0.49 * max_lr * (1 + math.cos(math.pi * (it - warmup) / (max_iters - warmup)))


torch.manual_seed(1337)
train_data, val_data = expressions(30000, random.Random(1)), expressions(1500, random.Random(2))
config = GPTConfig()
model = GPT(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=max_lr, betas=(0.9, 0.95), weight_decay=0.05)
for it in range(max_iters):
    for group in optimizer.param_groups:
        group["lr"] = get_lr(it)
    _, loss = model(*get_batch(train_data, 20, config.block_size))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if it % 60 == 0 or it == max_iters - 1:
        print(f"iter {it}: loss {loss.item():.4f}, val {estimate_loss(model, val_data, config.block_size):.4f}, lr {get_lr(it):.2e}")
