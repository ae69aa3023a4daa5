# A character model of identifiers in the standard library (three letters of context), small memory: micro-batches of 24.
import argparse
import builtins
import inspect
import logging
import os
import random
import re
import socket
import subprocess
import tarfile

import torch
import torch.nn.functional as F

CONTEXT = 3


def word_list():
    text = " ".join(name for m in (argparse, builtins, inspect, logging, os, random, re, socket, subprocess, tarfile, str, dict) for name in dir(m))
    return sorted({w for w in re.split(r"[^a-z]+", text.lower()) if len(w) > 2})


def build_examples(words):
    xs, ys = [], []
    for w in words:
        ctx = [0] * CONTEXT
        for ch in w + ".":
            ix = 0 if ch == "." else ord(ch) - 96
            xs.append(ctx)
            ys.append(ix)
            ctx = ctx[1:] + [ix]
    return torch.tensor(xs), torch.tensor(ys)


g = torch.Generator().manual_seed(2147)
words = word_list()
random.Random(42).shuffle(words)
cut = int(0.85 * len(words))
Xtr, Ytr = build_examples(words[:cut])
Xva, Yva = build_examples(words[cut:])

C = torch.randn((27, 8), generator=g) * 0.5
W1 = torch.randn((CONTEXT * 8, 48), generator=g) * (5 / 3) / (CONTEXT * 8) ** 0.5
b1 = torch.zeros(48)
W2 = torch.randn((48, 27), generator=g) * 0.05
b2 = torch.zeros(27)
parameters = [C, W1, b1, W2, b2]
for p in parameters:
    p.requires_grad = True


def logits_of(x):
    h = torch.tanh(C[x].flatten(1) @ W1 + b1)
    return h @ W2 + b2


micro, accumulate, updates = 24, 12, 100
optimizer = torch.optim.SGD(parameters, lr=0.15, momentum=0.9)
print(f"{len(words)} words, {len(Xtr)} training characters")
for update in range(1, updates + 1):
    optimizer.zero_grad()
    shown = 0.0
    for _ in range(accumulate):
        ix = torch.randint(0, len(Xtr), (micro,), generator=g)
        loss = F.cross_entropy(logits_of(Xtr[ix]), Ytr[ix])
        (loss / accumulate).backward()
        shown += loss.item() / accumulate
    optimizer.step()
    if update % 10 == 0:
        with torch.no_grad():
            val = F.cross_entropy(logits_of(Xva), Yva).item()
        print(f"update {update:4d} train {shown:.4f} val {val:.4f}")
