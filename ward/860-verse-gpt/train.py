# a tiny decoder on the Zen of Python, with the usual upper-triangular mask of -inf
import codecs
import contextlib
import io
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

with contextlib.redirect_stdout(io.StringIO()):
    import this
text = codecs.decode(this.s, "rot13").lower()
vocab = sorted(set(text))
ids = torch.tensor([vocab.index(c) for c in text])
T, D, HEADS = 24, 32, 4
torch.manual_seed(1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.qkv, self.proj = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.ff = nn.Sequential(nn.Linear(D, 3 * D), nn.GELU(), nn.Linear(3 * D, D))
        self.register_buffer("mask", torch.triu(torch.full((T, T), float("-inf")), 1))

    def forward(self, x):
        n = len(x)
        q, k, v = (z.view(n, T, HEADS, -1).transpose(1, 2) for z in self.qkv(self.n1(x)).chunk(3, -1))
        a = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(D / HEADS) + self.mask, -1)
        x = x + self.proj((a @ v).transpose(1, 2).reshape(n, T, D))
        return x + self.ff(self.n2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(len(vocab), D), nn.Parameter(0.02 * torch.randn(T, D))
        nn.init.normal_(self.tok.weight, std=0.1)
        self.blocks = nn.Sequential(Block(), Block())
        self.norm, self.head = nn.LayerNorm(D), nn.Linear(D, len(vocab))

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.tok(x) + self.pos)))


model = GPT()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1, (s + 1) / 20))
for step in range(181):
    at = torch.randint(0, len(ids) - T - 1, (24,))
    chunk = ids[at[:, None] + torch.arange(T + 1)]
    loss = F.cross_entropy(model(chunk[:, :-1]).flatten(0, 1), chunk[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    if step % 20 == 0:
        print(f"step {step:3d} loss {loss.item():.4f}")
