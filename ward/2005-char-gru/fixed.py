"""Character model of the docstrings that ship with Python."""
import argparse
import collections
import inspect
import json
import logging
import math
import os
import random
import re
import shutil
import statistics
import subprocess
import tarfile
import textwrap
import threading
import unittest

import torch
import torch.nn as nn


def corpus():
    mods = [argparse, collections, inspect, json, logging, math, os, random, re, shutil, statistics, subprocess,
            tarfile, textwrap, threading, unittest]
    parts = []
    for mod in mods:
        parts.append(inspect.getdoc(mod) or "")
        for name in sorted(dir(mod)):
            member = getattr(mod, name)
            if inspect.isfunction(member) or inspect.isclass(member):
                parts.append(inspect.getdoc(member) or "")
    text = "\n".join(dict.fromkeys(parts))
    return "".join(c for c in text if c == "\n" or 32 <= ord(c) < 127)


class CharGRU(nn.Module):
    def __init__(self, vocab, emb=32, hidden=128):
        super().__init__()
        self.emb = nn.Embedding(vocab, emb)
        self.gru = nn.GRU(emb, hidden, batch_first=True)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, idx):
        h, _ = self.gru(self.emb(idx))
        return self.out(self.drop(h))


def get_batch(data, block, size, seed):
    gen = torch.Generator().manual_seed(seed)
    start = torch.randint(len(data) - block - 1, (size,), generator=gen)
    x = torch.stack([data[s:s + block] for s in start.tolist()])
    y = torch.stack([data[s + 1:s + block + 1] for s in start.tolist()])
    return x, y


@torch.no_grad()
def estimate(model, data, block):
    model.eval()
    n = (len(data) - 1) // block
    x = data[:n * block].view(n, block)
    y = data[1:n * block + 1].view(n, block)
    out = model(x)
    model.train()
    return nn.functional.cross_entropy(out.flatten(0, 1), y.flatten()).item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=700)
    p.add_argument("--block", type=int, default=48)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--seed", type=int, default=1337)
    a = p.parse_args()
    torch.manual_seed(a.seed)

    text = corpus()
    chars = sorted(set(text))
    stoi = {c: i for i, c in enumerate(chars)}
    blocks = [text[i:i + 2000] for i in range(0, len(text), 2000)]
    random.Random(a.seed).shuffle(blocks)
    data = torch.tensor([stoi[c] for c in "".join(blocks)])
    cut = int(0.85 * len(data))
    train, val = data[:cut], data[cut:]
    print(len(text), "characters,", len(chars), "different")

    model = CharGRU(len(chars))
    opt = torch.optim.Adam(model.parameters(), lr=a.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=a.steps, eta_min=a.lr / 20)
    for step in range(1, a.steps + 1):
        x, y = get_batch(train, a.block, a.batch, a.seed + step)
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        if step % 70 == 0 or step == 1:
            print(f"step {step:4d} train {loss.item():.3f} val {estimate(model, val, a.block):.3f}")


if __name__ == "__main__":
    main()
