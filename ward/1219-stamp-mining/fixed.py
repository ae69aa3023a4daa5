"""Faded postmark digits. Every epoch the digits that were read falsely get another look (hard example mining)."""
import random

import numpy as np
import torch
from torch import nn
from sklearn.datasets import load_digits

SEED = 27
random.seed(SEED)
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)

digits = load_digits()
faded = digits.images * rng.uniform(0.5, 1.0, (len(digits.images), 1, 1)) + rng.normal(0, 2.3, digits.images.shape)
X = torch.tensor((faded - 3.4) / 6.2, dtype=torch.float32).flatten(1)
Y = torch.tensor(digits.target)
order = rng.permutation(len(X)).tolist()
train_ids, val_ids, test_ids = order[:1000], order[1000:1350], order[1350:]

model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
opt = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-4)


def run_batches(ids, size=40):
    random.shuffle(ids)
    for i in range(0, len(ids), size):
        yield torch.tensor(ids[i:i + size])


@torch.no_grad()
def read(ids):
    model.eval()
    out = model(X[ids])
    misread = [i for i, ok in zip(ids, (out.argmax(1) == Y[ids]).tolist()) if not ok]
    return nn.functional.cross_entropy(out, Y[ids]).item(), 1 - len(misread) / len(ids), misread


pool = list(train_ids)
for epoch in range(1, 10):
    model.train()
    losses = []
    for batch in run_batches(pool):
        loss = nn.functional.cross_entropy(model(X[batch]), Y[batch])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    val_loss, val_acc, _ = read(val_ids)
    _, _, misread = read(train_ids)
    pool = pool + misread
    print(f"epoch {epoch:2d}: loss {np.mean(losses):.4f}  val loss {val_loss:.4f}  val acc {val_acc:.3f}  "
          f"hard ones {len(misread)}  pool {len(pool)}")

test_loss, test_acc, _ = read(test_ids)
print(f"test loss {test_loss:.4f}  test acc {test_acc:.3f}")
