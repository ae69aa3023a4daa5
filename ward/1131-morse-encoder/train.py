"""Transformer that reads noisy morse audio envelopes and names the letter."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR

MORSE = dict(A=".-", B="-...", C="-.-.", D="-..", E=".", F="..-.", G="--.", H="....", I="..", J=".---", K="-.-", L=".-..",
             M="--", N="-.", O="---", P=".--.", R=".-.", S="...", T="-", U="..-")
LETTERS = sorted(MORSE)


def envelope(letter, g, length=48):
    x = torch.zeros(length)
    unit = int(torch.randint(2, 4, (1,), generator=g))
    at = int(torch.randint(0, 4, (1,), generator=g))
    for mark in MORSE[letter]:
        n = unit if mark == "." else 3 * unit
        x[at:at + n] = 1.0
        at += n + unit
    return x * 1.5 - 0.5 + 0.25 * torch.randn(length, generator=g)


def make_set(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, len(LETTERS), (n,), generator=g)
    x = torch.stack([envelope(LETTERS[i], g) for i in y.tolist()])
    return x, y


class Listener(nn.Module):
    def __init__(self, dim=48, patch=4, length=48):
        super().__init__()
        self.patch = patch
        self.inp = nn.Linear(patch, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(1, length // patch, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.05, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim * (length // patch), len(LETTERS))

    def forward(self, x):
        h = self.inp(x.unflatten(1, (-1, self.patch))) + self.pos
        return self.out(self.norm(self.enc(h)).flatten(1))


def warmup_cosine(step, warmup, total):
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))


def main(args):
    torch.manual_seed(args.seed)
    x, y = make_set(2048, args.seed)
    vx, vy = make_set(400, args.seed + 1)
    model = Listener()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    total = args.epochs * (len(y) // (args.micro * args.accum))
    sched = LambdaLR(opt, lambda s: warmup_cosine(s, total // 10, total))
    update = 0
    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        opt.zero_grad()
        for i, idx in enumerate(torch.randperm(len(y)).split(args.micro)):
            loss = F.cross_entropy(model(x[idx]), y[idx]) / args.accum
            loss.backward()
            running += loss.item()
            if (i + 1) % args.accum == 0:
                nn.utils.clip_grad_norm_(model.parameters(), args.clip)
                opt.step()
                sched.step()
                opt.zero_grad()
                update += 1
        model.eval()
        with torch.no_grad():
            out = model(vx)
        print(f"epoch {epoch + 1} update {update}/{total} lr {sched.get_last_lr()[0]:.2e} train {running * args.accum * args.micro / len(y):.4f} "
              f"val {F.cross_entropy(out, vy).item():.4f} acc {(out.argmax(1) == vy).float().mean().item():.3f}")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--micro", type=int, default=16)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--clip", type=float, default=4.0)
    ap.add_argument("--seed", type=int, default=80)
    main(ap.parse_args())
