"""Tiny GPT on the docstrings of the standard library; weights tied."""
import argparse
import inspect
import math
import textwrap

import torch
import torch.nn as nn
import torch.nn.functional as F

BLOCK, DIM, HEADS, LAYERS = 32, 48, 4, 2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.proj = nn.Linear(DIM, DIM)
        self.mlp = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, DIM))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.tok = nn.Embedding(vocab, DIM)
        self.pos = nn.Embedding(BLOCK, DIM)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(DIM)
        self.head = nn.Linear(DIM, vocab, bias=False)
        self.apply(self._init)
        self.head.weight = self.tok.weight

    def _init(self, m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            nn.init.normal_(m.weight)
        if isinstance(m, nn.Linear) and m.bias is not None:
            nn.init.zeros_(m.bias)

    def forward(self, idx, targets=None):
        x = self.tok(idx) + self.pos(torch.arange(idx.shape[1]))
        logits = self.head(self.norm(self.blocks(x)))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def get_batch(data, n, evenly=False):
    last = len(data) - BLOCK - 1
    start = torch.linspace(0, last, n).long() if evenly else torch.randint(0, last, (n,))
    rows = torch.stack([data[s:s + BLOCK + 1] for s in start])
    return rows[:, :-1], rows[:, 1:]


if __name__ == "__main__":
    torch.manual_seed(1337)
    text = inspect.getsource(textwrap) + inspect.getsource(argparse)[:60000]
    chars = sorted(set(text))
    data = torch.tensor([chars.index(c) for c in text])
    cut = int(0.9 * len(data))
    model = GPT(len(chars))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    print("vocab", len(chars), "uniform loss", round(math.log(len(chars)), 3))
    for it in range(241):
        if it % 40 == 0:
            model.eval()
            with torch.no_grad():
                est = [model(*get_batch(part, 128, evenly=True))[1].item() for part in (data[:cut], data[cut:])]
            print(f"iter {it}: train {est[0]:.3f} val {est[1]:.3f}")
            model.train()
        _, loss = model(*get_batch(data[:cut], 16))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
