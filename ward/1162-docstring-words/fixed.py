"""Next-word model on docstrings that ship with Python (a few thousand words)."""
import argparse
import bisect
import heapq
import random
import re
import textwrap

import torch
from torch import nn


def read_corpus():
    words = []
    for module in (random, heapq, bisect, textwrap):
        for name, thing in sorted(vars(module).items()):
            if getattr(thing, "__module__", None) in (module.__name__, "_" + module.__name__) or name == "__doc__":
                text = thing if isinstance(thing, str) else thing.__doc__ or ""
                words += re.findall(r"[a-z]+|[.,;]", text.lower())
    for thing in vars(random.Random).values():
        words += re.findall(r"[a-z]+|[.,;]", (getattr(thing, "__doc__", None) or "").lower())
    return words


class NextWord(nn.Module):
    def __init__(self, vocab, context, dim, hidden, dropout):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.net = nn.Sequential(
            nn.Flatten(), nn.Dropout(dropout), nn.Linear(context * dim, hidden), nn.ReLU(),
            nn.Dropout(dropout), nn.Linear(hidden, vocab),
        )

    def forward(self, ids):
        return self.net(self.embed(ids))


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--context", type=int, default=4)
    p.add_argument("--dim", type=int, default=32)
    p.add_argument("--hidden", type=int, default=128)
    p.add_argument("--dropout", type=float, default=0.35)
    p.add_argument("--weight-decay", type=float, default=0.2)
    p.add_argument("--lr", type=float, default=6e-3)
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--vocab", type=int, default=150)
    return p.parse_args()


def main(args):
    torch.manual_seed(1)
    words = read_corpus()
    counts = {}
    for w in words:
        counts[w] = counts.get(w, 0) + 1
    frequent = sorted(counts, key=lambda w: (-counts[w], w))[:args.vocab - 1]
    index = {w: i + 1 for i, w in enumerate(frequent)}          # 0 is any other word
    ids = torch.tensor([index.get(w, 0) for w in words])
    windows = ids.unfold(0, args.context + 1, 1)
    blocks = torch.arange(len(windows)) // 50 % 5 == 4           # every fifth stretch of text is held out
    train, val = windows[~blocks], windows[blocks]
    print(f"{len(words)} words, {len(train)} training windows, {len(val)} held out")

    model = NextWord(args.vocab, args.context, args.dim, args.hidden, args.dropout)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
    ce = nn.CrossEntropyLoss()
    for epoch in range(1, args.epochs + 1):
        model.train()
        total = 0.0
        batches = train[torch.randperm(len(train))].split(100)
        for batch in batches:
            loss = ce(model(batch[:, :-1]), batch[:, -1])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            held = ce(model(val[:, :-1]), val[:, -1]).item()
        print(f"epoch {epoch:2d}: train {total / len(batches):.3f}  held-out {held:.3f}")


if __name__ == "__main__":
    main(get_args())
