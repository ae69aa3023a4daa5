"""Which standard-library module does a snippet of source come from? Hashed tokens, embedding bag, small MLP."""
import argparse
import importlib
import inspect
import random
import re
import zlib

import torch
import torch.nn as nn

MODULES = ["tarfile", "difflib", "mailbox", "http.cookiejar", "pickletools", "imaplib"]
BUCKETS = 4096


def collect(lines_per_snippet):
    """Snippets of all modules in one shuffled list, and the list of their modules."""
    rows = []
    for k, name in enumerate(MODULES):
        lines = inspect.getsource(importlib.import_module(name)).splitlines()
        for i in range(0, len(lines) - lines_per_snippet, lines_per_snippet):
            rows.append(("\n".join(lines[i:i + lines_per_snippet]), k))
    rows = list({tuple(tokenize(text)): (text, k) for text, k in rows}.values())  # every snippet once
    random.shuffle(rows)
    return [r[0] for r in rows], [r[1] for r in rows]


def tokenize(text):
    return [zlib.crc32(w.encode()) % BUCKETS for w in re.findall(r"[a-z]{2,}", text.lower())]


def make_corpus(texts, labels, min_tokens):
    tokens = [tokenize(t) for t in texts]
    tokens = [t for t in tokens if len(t) >= min_tokens]  # blank lines and lone brackets say nothing
    return list(zip(tokens, labels))


def batches(corpus, size, shuffle):
    order = list(range(len(corpus)))
    if shuffle:
        random.shuffle(order)
    for i in range(0, len(order), size):
        part = [corpus[j] for j in order[i:i + size]]
        flat = torch.tensor([tok for toks, _ in part for tok in toks])
        offsets = torch.tensor([0] + [len(toks) for toks, _ in part[:-1]]).cumsum(0)
        yield flat, offsets, torch.tensor([label for _, label in part])


class BagClassifier(nn.Module):
    def __init__(self, dim, classes, p):
        super().__init__()
        self.bag = nn.EmbeddingBag(BUCKETS, dim, mode="mean")
        self.net = nn.Sequential(nn.LayerNorm(dim), nn.Dropout(p), nn.Linear(dim, 32), nn.ReLU(), nn.Dropout(p),
                                 nn.Linear(32, classes))

    def forward(self, flat, offsets):
        return self.net(self.bag(flat, offsets))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--lines", type=int, default=5)
    ap.add_argument("--min-tokens", type=int, default=8)
    ap.add_argument("--dim", type=int, default=32)
    ap.add_argument("--dropout", type=float, default=0.4)
    ap.add_argument("--epochs", type=int, default=18)
    ap.add_argument("--lr", type=float, default=3e-3)
    args = ap.parse_args()
    random.seed(5)
    torch.manual_seed(5)

    corpus = make_corpus(*collect(args.lines), args.min_tokens)
    cut = int(0.8 * len(corpus))
    train, valid = corpus[:cut], corpus[cut:]
    print(f"{len(train)} training and {len(valid)} validation snippets")

    model = BagClassifier(args.dim, len(MODULES), args.dropout)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.05)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(1, args.epochs + 1):
        model.train()
        losses = []
        for flat, offsets, y in batches(train, 16, True):
            loss = loss_fn(model(flat, offsets), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        model.eval()
        hits = vloss = 0.0
        with torch.no_grad():
            for flat, offsets, y in batches(valid, 100, False):
                out = model(flat, offsets)
                vloss += loss_fn(out, y).item() * len(y)
                hits += (out.argmax(1) == y).sum().item()
        print(f"epoch {epoch:2d} | train {sum(losses) / len(losses):.3f} | valid {vloss / len(valid):.3f} "
              f"| acc {hits / len(valid):.3f}")


if __name__ == "__main__":
    main()
