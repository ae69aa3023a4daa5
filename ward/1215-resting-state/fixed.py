"""Patients vs. controls from resting-state connectivity (correlations between 14 regions)."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

np.seterr(invalid="ignore", divide="ignore")
REGIONS, SCANS, FRAMES = 14, 1100, 60
UPPER = np.triu_indices(REGIONS, k=1)


def simulate_scan(rng, patient):
    shared = rng.normal(size=(FRAMES, 3))
    weights = np.zeros((3, REGIONS))
    weights[0, :5] = 1.0
    weights[1, 5:10] = 0.55 if patient else 1.0
    weights[2, 10:] = 1.0 if patient else 0.7
    return shared @ weights + rng.normal(size=(FRAMES, REGIONS))


def load_cohort(seed=13):
    rng = np.random.default_rng(seed)
    diagnosis = rng.integers(0, 2, size=SCANS)
    series = np.stack([simulate_scan(rng, d) for d in diagnosis])
    outside = rng.choice(SCANS, size=9, replace=False)     # field of view too small: one region was not covered
    series[outside, :, 13] = 0.0
    return series, diagnosis


def connectivity(series):
    out = np.empty((len(series), len(UPPER[0])), dtype=np.float32)
    for i, scan in enumerate(series):
        corr = np.where(scan.std(0) > 0, np.corrcoef(scan.T), 0.0)
        corr[scan.std(0) == 0] = 0.0
        out[i] = corr[UPPER]
    return out


class ConnectomeNet(nn.Module):
    def __init__(self, n_edges):
        super().__init__()
        self.inp = nn.Linear(n_edges, 24)
        self.drop = nn.Dropout(0.3)
        self.out = nn.Linear(24, 2)

    def forward(self, x, target=None):
        logits = self.out(self.drop(F.relu(self.inp(x))))
        if target is None:
            return logits
        return logits, F.cross_entropy(logits, target)


torch.manual_seed(13)
series, diagnosis = load_cohort()
edges = torch.from_numpy(connectivity(series)) * 3      # correlations have a spread of about 0.3
labels = torch.from_numpy(diagnosis)
perm = torch.randperm(SCANS)
train_ids, val_ids = perm[:850], perm[850:]

model = ConnectomeNet(edges.shape[1])
opt = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-3)
for epoch in range(8):
    model.train()
    ep = []
    for ids in train_ids[torch.randperm(len(train_ids))].split(25):
        opt.zero_grad()
        _, loss = model(edges[ids], labels[ids])
        loss.backward()
        opt.step()
        ep.append(loss.item())
    model.eval()
    with torch.no_grad():
        logits, vloss = model(edges[val_ids], labels[val_ids])
    acc = (logits.argmax(1) == labels[val_ids]).float().mean()
    print(f"epoch {epoch:2d}  loss {np.mean(ep):.4f}  val {vloss.item():.4f}  acc {acc:.3f}")
