# Which module of the standard library does a snippet come from?  Hashed character trigrams + EmbeddingBag.
import importlib.util
import random
import zlib

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, IterableDataset

MODULES = ["turtle", "tarfile", "argparse", "typing", "inspect", "doctest", "_pydecimal", "subprocess"]
BUCKETS = 4096
SNIPPET = 6


def snippets(module):
    with open(importlib.util.find_spec(module).origin, encoding="utf-8") as f:
        lines = [line.rstrip() for line in f if len(line.strip()) > 8]
    return ["\n".join(lines[i:i + SNIPPET]) for i in range(0, len(lines) - SNIPPET, SNIPPET)]


def encode(text):
    text = text[:480].ljust(12)
    return torch.tensor([zlib.crc32(text[i:i + 3].encode()) % BUCKETS for i in range(len(text) - 2)])


class SnippetStream(IterableDataset):
    def __init__(self, rows, shuffle=False):
        self.rows = rows
        self.shuffle = shuffle

    def __iter__(self):
        rows = list(self.rows)
        if self.shuffle:
            random.shuffle(rows)
        for text, label in rows:
            yield encode(text), label


def collate(batch):
    ids, labels = zip(*batch)
    offsets = torch.tensor([0] + [len(i) for i in ids[:-1]]).cumsum(0)
    return torch.cat(ids), offsets, torch.tensor(labels)


class BagNet(nn.Module):
    def __init__(self, n_classes, dim=64):
        super().__init__()
        self.bag = nn.EmbeddingBag(BUCKETS, dim, mode="mean")
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Dropout(0.4), nn.Linear(dim, n_classes))

    def forward(self, ids, offsets):
        return self.head(self.bag(ids, offsets))


def accuracy(model, loader):
    model.eval()
    total, right, loss = 0, 0, 0.0
    with torch.no_grad():
        for ids, offsets, y in loader:
            out = model(ids, offsets)
            loss += nn.functional.cross_entropy(out, y, reduction="sum").item()
            right += (out.argmax(1) == y).sum().item()
            total += len(y)
    return right / total, loss / total


def main():
    random.seed(2)
    torch.manual_seed(2)
    train_rows, valid_rows = [], []
    for label, module in enumerate(MODULES):
        texts = random.sample(snippets(module), 280)
        train_rows += [(t, label) for t in texts[:220]]
        valid_rows += [(t, label) for t in texts[220:]]
    train_loader = DataLoader(SnippetStream(train_rows, shuffle=True), batch_size=16, collate_fn=collate)
    valid_loader = DataLoader(SnippetStream(valid_rows), batch_size=64, collate_fn=collate)
    print(len(train_rows), "training snippets,", len(valid_rows), "for validation")

    model = BagNet(len(MODULES))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=3e-3)
    for epoch in range(1, 9):
        model.train()
        window, shown = 0.0, 0
        for step, (ids, offsets, y) in enumerate(train_loader, 1):
            loss = nn.functional.cross_entropy(model(ids, offsets), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            window, shown = window + loss.item(), shown + 1
            if step % 22 == 0:
                print(f"  epoch {epoch} step {step:3d} loss {window / shown:.3f}")
                window, shown = 0.0, 0
        acc, vloss = accuracy(model, valid_loader)
        print(f"epoch {epoch}: valid acc {acc:.3f} loss {vloss:.3f}")


if __name__ == "__main__":
    main()
