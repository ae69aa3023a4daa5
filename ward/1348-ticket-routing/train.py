#!/usr/bin/env python
"""Route support tickets to a team. Usage: train.py [--warm 1] [--epochs 8]"""
import argparse
import random

import torch
from torch import nn

TEAMS = {
    "billing": "invoice refund charge card payment receipt vat price subscription renewal".split(),
    "network": "vpn router latency wifi packet dns proxy timeout firewall ethernet".split(),
    "account": "password login locked reset email username token profile delete verify".split(),
    "hardware": "screen battery keyboard fan charger dock printer cable mouse noise".split(),
    "software": "crash update install plugin version freeze error license export macro".split(),
    "shipping": "parcel courier address delivery tracking customs late damaged return label".split(),
}
FILLER = ("please help the my a is not since yesterday again i have tried with on after and it still does work can you we our "
          "team need urgent hello thanks morning system problem when where old new").split()
NAMES = list(TEAMS)


def ticket(rng):
    t = rng.randrange(len(NAMES))
    other = rng.choice(NAMES)
    words = [rng.choice(TEAMS[NAMES[t]]) for _ in range(rng.randint(2, 3))]
    words += [rng.choice(TEAMS[other])] + [rng.choice(FILLER) for _ in range(rng.randint(6, 12))]
    rng.shuffle(words)
    return words, t


def encode(rows, vocab, length=18):
    x = torch.zeros(len(rows), length, dtype=torch.long)
    for i, (ws, _) in enumerate(rows):
        for j, w in enumerate(ws[:length]):
            x[i, j] = vocab[w]
    return x, torch.tensor([t for _, t in rows])


class Router(nn.Module):
    def __init__(self, n_words, n_out, dim=24):
        super().__init__()
        self.body = nn.ModuleDict({"emb": nn.Embedding(n_words, dim, padding_idx=0),
                                   "c2": nn.Conv1d(dim, 24, 2, padding=1), "c3": nn.Conv1d(dim, 24, 3, padding=1)})
        self.head = nn.Linear(48, n_out)

    def forward(self, x):
        e = self.body["emb"](x).transpose(1, 2)
        a = torch.relu(self.body["c2"](e)).mean(-1)
        b = torch.relu(self.body["c3"](e)).mean(-1)
        return self.head(torch.cat([a, b], 1))


def set_trainable(module, flag):
    for p in module.parameters():
        p.require_grad = flag


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        out = model(x)
    return nn.functional.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


def main(a):
    rng = random.Random(a.seed)
    torch.manual_seed(a.seed)
    vocab = {w: i + 1 for i, w in enumerate(sorted({w for ws in TEAMS.values() for w in ws} | set(FILLER)))}
    x, y = encode([ticket(rng) for _ in range(3000)], vocab)
    xv, yv = encode([ticket(rng) for _ in range(600)], vocab)

    model = Router(len(vocab) + 1, len(NAMES))
    opt = torch.optim.Adam(model.parameters(), lr=a.lr)
    # let the classifier settle first, then train everything
    model.body.requires_grad_(False)
    for epoch in range(a.epochs):
        if epoch == a.warm:
            set_trainable(model.body, True)
        model.train()
        total = 0.0
        for idx in torch.randperm(len(x)).split(a.batch):
            loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        vl, va = evaluate(model, xv, yv)
        print(f"epoch {epoch + 1}/{a.epochs}: loss {total / len(x):.4f} | val loss {vl:.4f} acc {va:.3f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--warm", type=int, default=1)
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--batch", type=int, default=50)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--seed", type=int, default=31)
    main(p.parse_args())
