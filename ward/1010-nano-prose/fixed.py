"""Character model on the standard library's own prose, after nanoGPT (GRU instead of attention, it's quicker on a laptop)."""
import argparse as _argparse
import decimal
import difflib
import inspect
import random
import statistics
import textwrap

import torch
import torch.nn as nn
from torch.nn import functional as F

# hyperparameters
batch_size = 16
block_size = 32
max_iters = 180
eval_interval = 30
eval_iters = 8
learning_rate = 8e-3
n_embd = 32
n_hidden = 64

torch.manual_seed(1337)

docs = []
for module in (_argparse, decimal, difflib, random, statistics, textwrap):
    for _, obj in [("", module)] + inspect.getmembers(module, lambda o: inspect.isclass(o) or inspect.isfunction(o)):
        docs.append(inspect.getdoc(obj) or "")
text = "\n".join(dict.fromkeys(docs)).lower()
text = "".join(c for c in text if c.isascii() and (c.isalpha() or c in " .,\n"))
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])

chunk = 600
pieces = list(data.split(chunk))
random.Random(0).shuffle(pieces)
data = torch.cat(pieces)
n = int(0.9 * len(data))
train_data, val_data = data[:n], data[n:]


g = torch.Generator().manual_seed(1337)


def get_batch(split):
    source = train_data if split == "train" else val_data
    ix = torch.randint(len(source) - block_size, (batch_size,), generator=g)
    x = torch.stack([source[i:i + block_size] for i in ix])
    y = torch.stack([source[i + 1:i + block_size + 1] for i in ix])
    return x, y


class CharModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.token_embedding = nn.Embedding(len(chars), n_embd)
        self.rnn = nn.GRU(n_embd, n_hidden, batch_first=True)
        self.lm_head = nn.Linear(n_hidden, len(chars))

    def forward(self, idx, targets=None):
        h, _ = self.rnn(self.token_embedding(idx))
        logits = self.lm_head(h)
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())


model = CharModel()


@torch.no_grad()
def estimate_loss():
    out = {}
    model.eval()
    for split in ["train", "val"]:
        out[split] = sum(model(*get_batch(split))[1].item() for _ in range(eval_iters)) / eval_iters
    model.train()
    return out


optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
print(f"{len(text)} characters, {len(chars)} different, {sum(p.numel() for p in model.parameters()) / 1e3:.0f}k parameters")
for it in range(max_iters + 1):
    if it % eval_interval == 0:
        losses = estimate_loss()
        print(f"step {it}: train loss {losses['train']:.4f}, val loss {losses['val']:.4f}")
    xb, yb = get_batch("train")
    logits, loss = model(xb, yb)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
