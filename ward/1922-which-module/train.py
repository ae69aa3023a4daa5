"""Tell from a few lines of source which standard library module they come from."""
import importlib
import inspect
import re
import zlib

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

MODULES = ["argparse", "tarfile", "typing", "subprocess", "_pydecimal", "unittest.mock", "http.client", "shutil"]
BUCKETS, LENGTH = 1024, 64


def chunks(name, lines=6):
    src = inspect.getsource(importlib.import_module(name)).splitlines()
    for i in range(0, len(src) - lines, lines):
        words = re.findall(r"[A-Za-z_]+|[^\sA-Za-z_]", " ".join(src[i:i + lines]))
        if len(words) >= 12:
            yield [1 + zlib.crc32(w.encode()) % (BUCKETS - 1) for w in words[:LENGTH]]


class Snippets(Dataset):
    def __init__(self, part):
        self.items = []
        for label, name in enumerate(MODULES):
            for k, ids in enumerate(chunks(name)):
                if (k % 4 == 0) == (part == "val"):
                    self.items.append((torch.tensor(ids + [0] * (LENGTH - len(ids))), label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class Tagger(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.emb = nn.Embedding(BUCKETS, dim, padding_idx=0)
        self.net = nn.Sequential(nn.Dropout(0.3), nn.Linear(dim, 64), nn.ReLU(), nn.Dropout(0.3),
                                 nn.Linear(64, len(MODULES)))

    def forward(self, ids):
        there = (ids != 0).unsqueeze(-1).float()
        return self.net((self.emb(ids) * there).sum(1) / there.sum(1))


torch.manual_seed(21)
train_set, val_set = Snippets("train"), Snippets("val")
print(f"{len(train_set)} training and {len(val_set)} validation snippets")
train_loader = DataLoader(train_set, batch_size=32)
val_loader = DataLoader(val_set, batch_size=128)

model = Tagger()
optimizer = torch.optim.AdamW(model.parameters(), lr=8e-3, weight_decay=0.05)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(11):
    model.train()
    running = 0.0
    for step, (ids, label) in enumerate(train_loader):
        optimizer.zero_grad()
        loss = loss_fn(model(ids), label)
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    correct, vloss = 0, 0.0
    with torch.no_grad():
        for ids, label in val_loader:
            out = model(ids)
            vloss += loss_fn(out, label).item() * len(label)
            correct += (out.argmax(1) == label).sum().item()
    print("epoch %d: loss %.3f, val loss %.3f, val accuracy %.1f%%" % (
        epoch + 1, running / len(train_loader), vloss / len(val_set), 100 * correct / len(val_set)))
