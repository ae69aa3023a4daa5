import argparse
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

ROOMS = ["kitchen", "hall", "attic", "garage", "study"]
ITEMS = ["lamp", "radio", "heater", "fan", "door", "blind"]
ACTS = ["open", "close", "start", "stop", "dim"]


def dialogue(n_turns, rng):
    words = []
    for _ in range(n_turns):
        act, room = rng.choice(ACTS), rng.choice(ROOMS)
        item = rng.choice(ITEMS[:4] if act in ("start", "stop", "dim") else ITEMS[4:])
        if rng.random() < 0.5:
            words += ["please", act, "the", room, item, "."]
        else:
            words += [act, "the", item, "in", "the", room, "."]
        words += ["ok", act, item, "."]          # the house repeats what it understood
    return words


class SelfAttention(nn.Module):
    def __init__(self, dim, heads, block):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.register_buffer("mask", torch.triu(torch.ones(block, block), diagonal=1).bool())

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        score = q @ k.transpose(-2, -1) / math.sqrt(d // self.heads)
        score = score.masked_fill(self.mask[:t, :t], float("-inf"))
        return self.proj((score.softmax(-1) @ v).transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    def __init__(self, dim, heads, block):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = SelfAttention(dim, heads, block)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.n1(x))
        return x + self.mlp(self.n2(x))


class LM(nn.Module):
    def __init__(self, n_words, block, dim=48, heads=4, layers=2):
        super().__init__()
        self.tok, self.pos = nn.Embedding(n_words, dim), nn.Parameter(torch.randn(block, dim) * 0.02)
        self.blocks = nn.Sequential(*[Block(dim, heads, block) for _ in range(layers)])
        self.norm, self.out = nn.LayerNorm(dim), nn.Linear(dim, n_words)

    def forward(self, ids):
        return self.out(self.norm(self.blocks(self.tok(ids) + self.pos[:ids.shape[1]])))


def windows(ids, block):
    n = (len(ids) - 1) // block
    return ids[:n * block].view(n, block), ids[1:n * block + 1].view(n, block)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--block", type=int, default=32)
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--lr", type=float, default=3e-3)
    a = p.parse_args()
    torch.manual_seed(14)
    rng = random.Random(14)
    train_words, val_words = dialogue(3000, rng), dialogue(400, rng)
    vocab = {w: i for i, w in enumerate(sorted(set(train_words)))}
    x, y = windows(torch.tensor([vocab[w] for w in train_words]), a.block)
    xv, yv = windows(torch.tensor([vocab[w] for w in val_words]), a.block)
    model = LM(len(vocab), a.block)
    opt = torch.optim.AdamW(model.parameters(), lr=a.lr, weight_decay=0.01)
    steps = a.epochs * -(-len(x) // 32)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, a.lr, total_steps=steps, pct_start=0.15)
    for epoch in range(1, a.epochs + 1):
        model.train()
        total = 0.0
        for rows in torch.randperm(len(x)).split(32):
            loss = F.cross_entropy(model(x[rows]).flatten(0, 1), y[rows].flatten())
            opt.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            total += loss.item() * len(rows)
        model.eval()
        with torch.no_grad():
            vloss = F.cross_entropy(model(xv).flatten(0, 1), yv.flatten()).item()
        print(f"epoch {epoch:2d}  train loss {total / len(x):.4f}  val loss {vloss:.4f}  val ppl {math.exp(vloss):.3f}")


if __name__ == "__main__":
    main()
