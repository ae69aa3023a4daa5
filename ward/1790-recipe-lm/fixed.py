"""Tiny causal transformer that learns to write cooking instructions."""
import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

VERBS = ["chop", "slice", "fry", "boil", "bake", "grate", "peel", "mix", "rinse", "season"]
FOODS = ["onions", "carrots", "rice", "potatoes", "chicken", "tofu", "beans", "mushrooms", "noodles", "peppers", "eggs", "fish"]
HOW = {"fry": ["in butter", "in hot oil", "until golden"], "boil": ["in salted water", "until tender"],
       "bake": ["in the oven", "at high heat", "until golden"], "chop": ["finely", "roughly"], "slice": ["thinly", "finely"],
       "grate": ["finely", "coarsely"], "peel": ["carefully"], "mix": ["with the sauce", "in a bowl"],
       "rinse": ["in cold water"], "season": ["with salt", "with pepper", "with lemon juice"]}
TAIL = ["for {n} minutes", "and set aside", "then serve warm", "then repeat", ""]
NUMS = ["two", "five", "ten", "twelve", "twenty"]


def sentence(rng):
    verb = rng.choice(VERBS)
    parts = [verb, "the", rng.choice(FOODS), rng.choice(HOW[verb])]
    if rng.random() < 0.4:
        parts.insert(3, "and " + rng.choice(FOODS))
    parts.append(rng.choice(TAIL).format(n=rng.choice(NUMS)))
    return " ".join(p for p in parts if p).split()


def encode(sents, vocab, length):
    out = torch.zeros(len(sents), length, dtype=torch.long)
    for i, s in enumerate(sents):
        ids = [1] + [vocab[w] for w in s] + [2]
        out[i, :len(ids)] = torch.tensor(ids[:length])
    return out


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x, mask):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.ff(self.ln2(x))


class TinyLM(nn.Module):
    def __init__(self, vocab, dim, heads, layers, length):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        nn.init.normal_(self.tok.weight, std=0.02)
        self.pos = nn.Embedding(length, dim)
        nn.init.normal_(self.pos.weight, std=0.02)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab, bias=False)
        self.head.weight = self.tok.weight

    def forward(self, ids):
        n = ids.shape[1]
        mask = torch.triu(torch.ones(n, n, dtype=torch.bool), 1)
        x = self.tok(ids) + self.pos.weight[:n]
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.norm(x))


def lm_loss(model, ids):
    logits = model(ids[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), ignore_index=0)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--batch", type=int, default=50)
    ap.add_argument("--dim", type=int, default=96)
    ap.add_argument("--lr", type=float, default=7e-4)
    ap.add_argument("--seed", type=int, default=5)
    args = ap.parse_args()

    rng = random.Random(args.seed)
    torch.manual_seed(args.seed)
    sents = sorted({tuple(sentence(rng)) for _ in range(4000)})        # no sentence twice
    rng.shuffle(sents)
    sents = sents[:2400]
    words = sorted({w for s in sents for w in s})
    vocab = {w: i + 3 for i, w in enumerate(words)}
    length = max(map(len, sents)) + 2
    ids = encode(sents, vocab, length)
    train, val = ids[:2000], ids[2000:]
    print(f"{len(words)} words, longest sentence {length - 2}")

    model = TinyLM(len(words) + 3, args.dim, 4, 2, length)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    for epoch in range(1, args.epochs + 1):
        model.train()
        total = steps = 0
        for b in torch.randperm(len(train)).split(args.batch):
            loss = lm_loss(model, train[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total, steps = total + loss.item(), steps + 1
            if epoch == 1 and steps % 20 == 1:
                print(f"  step {steps:3d} loss {loss.item():.3f}")
        model.eval()
        with torch.no_grad():
            v = lm_loss(model, val).item()
        print(f"epoch {epoch} train {total / steps:.4f} val {v:.4f}")


if __name__ == "__main__":
    main()
