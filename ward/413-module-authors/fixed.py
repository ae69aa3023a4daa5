"""Guess from which standard-library module a line of code was taken."""
import inspect
import random

import argparse
import fractions
import calendar
import statistics

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

SOURCES = [argparse, fractions, calendar, statistics]


def read_lines(rng):
    data = []
    for label, module in enumerate(SOURCES):
        lines = [l.strip() for l in inspect.getsource(module).splitlines()]
        chunks = [" ".join(lines[i:i + 4]) for i in range(0, len(lines) - 4, 4)]
        chunks = [c for c in chunks if len(c) > 30]
        rng.shuffle(chunks)
        data += [(c, label) for c in chunks[:130]]
    rng.shuffle(data)
    return data


def encode(batch, buckets=1024):
    """hashed character trigrams, as the EmbeddingBag wants them"""
    ids, offsets, labels = [], [], []
    for text, label in batch:
        offsets.append(len(ids))
        ids += [(ord(a) * 31 * 31 + ord(b) * 31 + ord(c)) % buckets for a, b, c in zip(text, text[1:], text[2:])]
        labels.append(label)
    return torch.tensor(ids), torch.tensor(offsets), torch.tensor(labels)


class TrigramNet(nn.Module):
    def __init__(self, buckets=1024, dim=24):
        super().__init__()
        self.bag = nn.EmbeddingBag(buckets, dim, mode="mean")
        self.drop = nn.Dropout(0.4)
        self.fc = nn.Linear(dim, len(SOURCES))

    def forward(self, ids, offsets):
        return F.log_softmax(self.fc(self.drop(self.bag(ids, offsets))), dim=1)


def main():
    torch.manual_seed(3)
    data = read_lines(random.Random(3))
    cut = len(data) * 3 // 4
    train = DataLoader(data[:cut], batch_size=32, shuffle=True, collate_fn=encode)
    val = DataLoader(data[cut:], batch_size=200, collate_fn=encode)
    net = TrigramNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02, weight_decay=1e-4)
    for epoch in range(10):
        net.train()
        losses = []
        for ids, offsets, label in train:
            optimizer.zero_grad()
            loss = F.nll_loss(net(ids, offsets), label)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        net.eval()
        right = total = 0
        val_loss = 0.0
        with torch.no_grad():
            for ids, offsets, label in val:
                out = net(ids, offsets)
                val_loss += F.nll_loss(out, label, reduction="sum").item()
                right += (out.argmax(1) == label).sum().item()
                total += len(label)
        print(f"epoch {epoch + 1} loss {sum(losses) / len(losses):.4f} val loss {val_loss / total:.4f} val acc {right / total:.3f}")


if __name__ == "__main__":
    main()
