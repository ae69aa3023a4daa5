# char-level language model on the docstrings of the standard library
import argparse as _a, collections, csv, json, logging, os, random, re, string, textwrap, threading, typing, unittest
import inspect
import math
import time

import torch
import torch.nn as nn
from torch.nn import functional as F

# hyperparameters
batch_size = 24
block_size = 32
max_iters = 750
eval_interval = 75
learning_rate = 6e-3
n_embd = 56
n_head = 4
n_layer = 2
dropout = 0.0
# ------------

torch.manual_seed(1337)


def collect(modules):
    texts = []
    for m in modules:
        texts.append(inspect.getdoc(m) or "")
        for _, obj in sorted(vars(m).items(), key=lambda kv: kv[0]):
            if inspect.isclass(obj) or inspect.isfunction(obj):
                texts.append(inspect.getdoc(obj) or "")
                if inspect.isclass(obj):
                    texts += [inspect.getdoc(f) or "" for _, f in sorted(vars(obj).items()) if inspect.isfunction(f)]
    texts = sorted({t for t in texts if len(t) > 60})
    random.Random(0).shuffle(texts)
    return "\n\n".join(texts)


text = collect([_a, collections, csv, json, logging, os, random, re, string, textwrap, threading, typing, unittest])
text = "".join(c for c in text if c in string.printable)
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
itos = {i: c for c, i in stoi.items()}
data = torch.tensor([stoi[c] for c in text])
n = int(0.9 * len(data))
train_data, val_data = data[:n], data[n:]
print(len(data), "characters,", len(chars), "different")


g = torch.Generator().manual_seed(1337)


def get_batch(split):
    d = train_data if split == "train" else val_data
    ix = torch.randint(len(d) - block_size, (batch_size,), generator=g)
    x = torch.stack([d[i:i + block_size] for i in ix])
    y = torch.stack([d[i + 1:i + block_size + 1] for i in ix])
    return x, y


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.qkv = nn.Linear(n_embd, 3 * n_embd, bias=False)
        self.proj = nn.Linear(n_embd, n_embd)
        self.ffwd = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd), nn.Dropout(dropout))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (z.view(B, T, n_head, C // n_head).transpose(1, 2) for z in self.qkv(self.ln1(x)).split(C, dim=2))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(B, T, C))
        return x + self.ffwd(self.ln2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(len(chars), n_embd)
        self.pos = nn.Embedding(block_size, n_embd)
        self.blocks = nn.Sequential(*[Block() for _ in range(n_layer)])
        self.ln = nn.LayerNorm(n_embd)
        self.head = nn.Linear(n_embd, len(chars))
        nn.init.normal_(self.tok.weight, std=0.1)
        nn.init.normal_(self.pos.weight, std=0.1)

    def forward(self, idx):
        x = self.tok(idx) + self.pos(torch.arange(idx.shape[1]))
        return self.head(self.ln(self.blocks(x)))


model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
warm = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / 40) * 0.5 * (1 + math.cos(math.pi * s / max_iters)))
t0 = time.time()
for it in range(1, max_iters + 1):
    xb, yb = get_batch("train")
    loss = F.cross_entropy(model(xb).flatten(0, 1), yb.flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    warm.step()
    if it % eval_interval == 0:
        model.eval()
        with torch.no_grad():
            pieces = val_data[: 240 * (block_size + 1)].view(-1, block_size + 1)
            vl = F.cross_entropy(model(pieces[:, :-1]).flatten(0, 1), pieces[:, 1:].flatten()).item()
        model.train()
        print(f"step {it}: train loss {loss.item():.4f}, val loss {vl:.4f} ({time.time() - t0:.0f}s)")

with torch.no_grad():
    ctx = torch.tensor([[stoi["\n"]]])
    for _ in range(120):
        p = F.softmax(model(ctx[:, -block_size:])[:, -1], dim=-1)
        ctx = torch.cat([ctx, torch.multinomial(p, 1)], 1)
print("".join(itos[i] for i in ctx[0].tolist()))
