"""Guess which standard-library package a few lines of Python come from."""
import pathlib
import random
import sysconfig
import time
import zlib

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

PACKAGES = ["email", "unittest", "asyncio", "xml", "http", "ctypes", "logging", "json"]
BUCKETS = 2048
LINES = 6


def collect(per_package=200):
    root = pathlib.Path(sysconfig.get_paths()["stdlib"])
    rows = []
    for label, name in enumerate(PACKAGES):
        chunks = []
        for path in sorted((root / name).rglob("*.py")):
            lines = [l for l in path.read_text(errors="ignore").splitlines() if l.strip()]
            chunks += ["\n".join(lines[i:i + LINES]) for i in range(0, len(lines) - LINES, LINES)]
        random.shuffle(chunks)
        rows += [(c, label) for c in chunks[:per_package]]
    random.shuffle(rows)
    return rows


def ngram_vector(text, low=3, high=4):
    """Hashed, length-normalised counts of character n-grams."""
    vec = torch.zeros(BUCKETS)
    raw = text.lower().encode()
    counts = {}
    for n in range(low, high + 1):
        for i in range(len(raw) - n + 1):
            k = zlib.crc32(raw[i:i + n]) % BUCKETS
            counts[k] = counts.get(k, 0) + 1
    for k, c in counts.items():
        vec[k] = c ** 0.5
    return vec / vec.norm().clamp(min=1e-6) * 8


class Snippets(Dataset):
    def __init__(self, rows):
        self.rows = [(ngram_vector(text), label) for text, label in rows]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def evaluate(model, loader):
    model.eval()
    loss = hits = n = 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            loss += nn.functional.cross_entropy(out, y, reduction="sum").item()
            hits += (out.argmax(1) == y).sum().item()
            n += len(y)
    return loss / n, hits / n


def main():
    random.seed(3)
    torch.manual_seed(3)
    rows = collect()
    cut = int(0.8 * len(rows))
    train = DataLoader(Snippets(rows[:cut]), batch_size=32, shuffle=True)
    valid = DataLoader(Snippets(rows[cut:]), batch_size=128)
    print(len(rows), "snippets")

    model = nn.Sequential(nn.Dropout(0.3), nn.Linear(BUCKETS, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, len(PACKAGES)))
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
    epochs = 8
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=epochs)
    for epoch in range(epochs):
        start, total = time.time(), 0.0
        model.train()
        for x, y in train:
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(y)
        sched.step()
        vl, va = evaluate(model, valid)
        print(f"epoch {epoch} train {total / cut:.4f} valid {vl:.4f} acc {va:.3f} ({time.time() - start:.1f}s)")


if __name__ == "__main__":
    main()
