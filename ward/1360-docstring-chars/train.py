"""Character model of the standard library's docstrings, after Karpathy's char-rnn."""
import argparse
import collections
import inspect
import json
import logging
import random
import textwrap
import threading

import torch
from torch import nn
import torch.nn.functional as F


def corpus():
    parts = []
    for mod in (argparse, collections, json, logging, random, textwrap, threading):
        parts.append(inspect.getdoc(mod) or "")
        for _, obj in sorted(inspect.getmembers(mod), key=lambda kv: kv[0]):
            if inspect.isclass(obj) or inspect.isfunction(obj):
                parts.append(inspect.getdoc(obj) or "")
    text = "\n".join(parts).lower()
    keep = set("abcdefghijklmnopqrstuvwxyz .,'()_\n-")
    return "".join(c for c in text if c in keep)


class CharModel(nn.Module):
    def __init__(self, vocab, emb=32, hidden=96):
        super().__init__()
        self.emb = nn.Embedding(vocab, emb)
        self.rnn = nn.GRU(emb, hidden, batch_first=True)
        self.drop = nn.Dropout(0.25)
        self.proj = nn.Linear(hidden, vocab)

    def forward(self, x, state=None):
        out, state = self.rnn(self.emb(x), state)
        return torch.softmax(self.proj(self.drop(out)), dim=-1), state

    @torch.no_grad()
    def sample(self, stoi, itos, start="the ", n=120):
        self.eval()
        state, text = None, start
        x = torch.tensor([[stoi[c] for c in start]])
        for _ in range(n):
            p, state = self(x, state)
            x = torch.multinomial(p[:, -1], 1)
            text += itos[x.item()]
        return text.replace("\n", "/")


def windows(ids, batch, length):
    """endless random crops"""
    while True:
        start = torch.randint(0, len(ids) - length - 1, (batch,))
        idx = start[:, None] + torch.arange(length + 1)
        chunk = ids[idx]
        yield chunk[:, :-1], chunk[:, 1:]


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=400)
    ap.add_argument("--lr", type=float, default=6e-3)
    ap.add_argument("--batch", type=int, default=24)
    ap.add_argument("--length", type=int, default=40)
    args = ap.parse_args()
    torch.manual_seed(23)

    text = corpus()
    chars = sorted(set(text))
    stoi = {c: i for i, c in enumerate(chars)}
    ids = torch.tensor([stoi[c] for c in text])
    blocks = ids[:len(ids) // 780 * 780].view(-1, 780)
    kept = torch.arange(len(blocks)) % 12 == 7          # every 12th block is kept for testing
    print(f"{len(ids)} characters, vocabulary {len(chars)}")

    model = CharModel(len(chars))
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.05, total_iters=args.steps)
    feed = windows(blocks[~kept].flatten(), args.batch, args.length)
    held = blocks[kept].view(-1, 65)
    vx, vy = held[:, :-1], held[:, 1:]

    for step in range(1, args.steps + 1):
        model.train()
        x, y = next(feed)
        out, _ = model(x)
        loss = F.cross_entropy(out.flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if step % 40 == 0:
            model.eval()
            with torch.no_grad():
                out, _ = model(vx)
                vl = F.cross_entropy(out.flatten(0, 1), vy.flatten()).item()
                hit = (out.argmax(-1) == vy).float().mean().item()
            print(f"{step:5d}  train {loss.item():.3f}  held-out {vl:.3f}  next-char accuracy {hit:.3f}")
    print(model.sample(stoi, chars))
