# Response to treatment from clinic visits. One row per visit -> averages per patient -> small MLP.
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=12)
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--seed", type=int, default=21)
args = parser.parse_args([])


def read_tables(seed):
    """Stands in for patients.csv (in the order of enrolment) and visits.csv."""
    rng = np.random.default_rng(seed)
    n = 1500
    ids = rng.permutation(np.arange(40_000, 40_000 + 3 * n))[:n]  # random study numbers
    state = rng.normal(size=(n, 9))
    arm = (1.4 * state[:, 0] - 1.1 * state[:, 1] + state[:, 2] * state[:, 3]).round(3)
    response = np.digitize(arm + 0.3 * rng.normal(size=n), [-0.9, 0.9])
    visits = rng.integers(3, 7, size=n)
    who = np.repeat(np.arange(n), visits)
    labs = state[who] + 0.4 * rng.normal(size=(len(who), 9))
    order = rng.permutation(len(who))
    return {"id": ids, "response": response}, {"id": ids[who][order], "labs": labs[order]}


def per_patient(visits):
    uniq, inverse, counts = np.unique(visits["id"], return_inverse=True, return_counts=True)
    sums = np.zeros((len(uniq), visits["labs"].shape[1]))
    np.add.at(sums, inverse, visits["labs"])
    return uniq, sums / counts[:, None]


class Responder(nn.Module):
    def __init__(self, d_in, hidden=48, classes=3):
        super().__init__()
        self.l1 = nn.Linear(d_in, hidden)
        self.l2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, classes)

    def forward(self, x):
        x = F.gelu(self.l1(x))
        x = F.gelu(self.l2(x))
        return self.out(x)


torch.manual_seed(args.seed)
patients, visits = read_tables(args.seed)
ids, feats = per_patient(visits)
row_of = {pid: row for row, pid in enumerate(patients["id"])}
labels = patients["response"][[row_of[pid] for pid in ids]]
print(f"{len(ids)} patients, {len(visits['id'])} visits, classes {np.bincount(labels)}")

split = np.random.default_rng(0).permutation(len(ids))
tr, va = split[:1200], split[1200:]
mu, sd = feats[tr].mean(0), feats[tr].std(0)
X = torch.tensor((feats - mu) / sd, dtype=torch.float32)
y = torch.tensor(labels)

model = Responder(X.shape[1])
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-2)
for epoch in range(args.epochs):
    model.train()
    hist = []
    for idx in torch.from_numpy(tr)[torch.randperm(len(tr))].split(args.batch_size):
        loss = F.cross_entropy(model(X[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hist.append(loss.item())
    model.eval()
    with torch.no_grad():
        logits = model(X[va])
    print(f"Epoch {epoch:02d} | train {np.mean(hist):.4f} | val {F.cross_entropy(logits, y[va]):.4f} | "
          f"val acc {(logits.argmax(1) == y[va]).float().mean():.3f}")
