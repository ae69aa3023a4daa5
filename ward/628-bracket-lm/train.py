"""Causal transformer on bracket words; attention written by hand, targets shifted by one."""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

SYMBOLS = "^()[]ab."
PAIR = {"(": ")", "[": "]"}
rng = random.Random(9)


def sentence(n=20):
    out, stack = ["^"], []
    while len(out) < n:
        if stack and rng.random() < 0.45:
            out.append(stack.pop())
        elif rng.random() < 0.5:
            c = rng.choice("([")
            stack.append(PAIR[c])
            out.append(c)
        else:
            out.append(rng.choice("ab."))
    return [SYMBOLS.index(c) for c in out]


class CausalAttention(nn.Module):
    def __init__(self, dim, heads, block):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.register_buffer("future", torch.triu(torch.ones(block, block, dtype=torch.bool), diagonal=1))

    def forward(self, x):
        B, T, D = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.heads, D // self.heads).permute(2, 0, 3, 1, 4)
        att = (q @ k.transpose(-2, -1)) * (D // self.heads) ** -0.5
        att = att.masked_fill(self.future[:T, :T], float("-inf")).softmax(dim=-1)
        return self.proj((att @ v).transpose(1, 2).reshape(B, T, D))


class Layer(nn.Module):
    def __init__(self, dim, heads, block):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = CausalAttention(dim, heads, block)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.n1(x))
        return x + self.ff(self.n2(x))


class BracketLM(nn.Module):
    def __init__(self, dim=32, heads=2, block=19, layers=2):
        super().__init__()
        self.tok = nn.Embedding(len(SYMBOLS), dim)
        self.pos = nn.Embedding(block, dim)
        self.layers = nn.Sequential(*[Layer(dim, heads, block) for _ in range(layers)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, len(SYMBOLS))

    def forward(self, x):
        h = self.tok(x) + self.pos(torch.arange(x.shape[1]))
        return self.head(self.norm(self.layers(h)))


torch.manual_seed(9)
data = torch.tensor([sentence() for _ in range(1900)])
train, val = data[:1600], data[1600:]
model = BracketLM()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
for epoch in range(4):
    model.train()
    losses = []
    for b in torch.randperm(1600).split(32):
        seq = train[b]
        loss = F.cross_entropy(model(seq[:, :-1]).flatten(0, 1), seq[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        v = F.cross_entropy(model(val[:, :-1]).flatten(0, 1), val[:, 1:].flatten()).item()
    print(f"epoch {epoch}: train {sum(losses) / len(losses):.4f} val {v:.4f}")
