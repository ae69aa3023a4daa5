"""miniGPT on standard-library docstrings, character level."""
import argparse as ap_mod
import collections, csv, difflib, email.message, functools, heapq, inspect, itertools, json, logging, os, random, re, shutil, string, subprocess, textwrap, threading
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1337)
mods = [ap_mod, collections, csv, difflib, email.message, functools, heapq, inspect, itertools, json, logging, os, random, re, shutil, string,
        subprocess, textwrap, threading, math]
parts = []
for m in mods:
    parts.append(m.__doc__ or "")
    for name in sorted(dir(m)):
        doc = getattr(getattr(m, name), "__doc__", None)
        if isinstance(doc, str) and len(doc) > 80:
            parts.append(doc)
random.Random(0).shuffle(parts)
text = "".join(c for c in " ".join(" ".join(parts).lower().split()) if c in string.ascii_lowercase + " .,()'_-\n")
text = text[:120_000]
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
cut = int(0.9 * len(data))
train_data, val_data = data[:cut], data[cut:]
print(len(text), "characters,", len(chars), "distinct")

block_size, batch_size, n_embd, n_head, n_layer = 48, 16, 48, 4, 2
max_iters, eval_every, lr = 600, 60, 3e-3


def get_batch(split):
    d = train_data if split == "train" else val_data
    ix = torch.randint(len(d) - block_size - 1, (batch_size,))
    return torch.stack([d[i:i + block_size] for i in ix]), torch.stack([d[i + 1:i + block_size + 1] for i in ix])


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(n_embd, 3 * n_embd)
        self.proj = nn.Linear(n_embd, n_embd)
        keep = torch.ones(block_size, block_size).tril().bool()
        self.register_buffer("keep", keep, persistent=False)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (z.view(B, T, n_head, C // n_head).transpose(1, 2) for z in self.qkv(x).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.keep[:T, :T])
        return self.proj(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.attn = Attention()
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(len(chars), n_embd)
        self.pos = nn.Embedding(block_size, n_embd)
        self.blocks = nn.Sequential(*[Block() for _ in range(n_layer)])
        self.ln = nn.LayerNorm(n_embd)
        self.head = nn.Linear(n_embd, len(chars), bias=False)
        self.apply(self._init)

    def _init(self, m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            nn.init.normal_(m.weight, std=0.05)

    def forward(self, idx, targets=None):
        x = self.tok(idx) + self.pos(torch.arange(idx.shape[1]))
        logits = self.head(self.ln(self.blocks(x)))
        loss = None if targets is None else F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, n):
        for _ in range(n):
            logits, _ = self(idx[:, -block_size:])
            idx = torch.cat([idx, torch.multinomial(F.softmax(logits[:, -1], -1), 1)], 1)
        return idx


@torch.no_grad()
def estimate(model):
    model.eval()
    out = {s: sum(model(*get_batch(s))[1].item() for _ in range(8)) / 8 for s in ("train", "val")}
    model.train()
    return out


model = GPT()
opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)
for it in range(max_iters):
    for group in opt.param_groups:      # short warm-up, then cosine
        group["lr"] = lr * min(1, (it + 1) / 40) * (0.55 + 0.45 * math.cos(math.pi * it / max_iters))
    _, loss = model(*get_batch("train"))
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if it % eval_every == eval_every - 1:
        e = estimate(model)
        print(f"iter {it + 1}: train loss {e['train']:.4f}, val loss {e['val']:.4f}")

print(">>", "".join(chars[i] for i in model.generate(torch.tensor([[stoi["r"], stoi["e"], stoi["t"]]]), 150)[0].tolist()))
