"""Cell types from single-cell counts (genes x cells); the usual pre-processing: depth normalisation, log, scaling."""
import numpy as np
import torch
import torch.nn as nn

TYPES = ["T", "B", "NK", "monocyte", "platelet", "dendritic"]
GENES = 100


class Atlas:
    """A tiny stand-in for AnnData: X, obs and a dict of what has been done to it."""

    def __init__(self, X, cell_type):
        self.X, self.cell_type, self.uns = X.astype(np.float64), cell_type, {}


def sequence_run(n, seed):
    profile_rng = np.random.default_rng(0)
    profiles = np.exp(profile_rng.normal(0, 0.9, (1, GENES)) + profile_rng.normal(0, 0.4, (len(TYPES), GENES)))
    profiles /= profiles.sum(1, keepdims=True)
    rng = np.random.default_rng(seed)
    cell_type = rng.integers(0, len(TYPES), n)
    depth = rng.lognormal(np.log(400), 0.4, n)
    mu = profiles[cell_type] * depth[:, None]
    counts = rng.poisson(rng.gamma(2.5, mu / 2.5))
    return Atlas(counts, cell_type)


def normalize_total(adata, target=10_000):
    adata.X = adata.X / adata.X.sum(1, keepdims=True).clip(min=1) * target


def log1p(adata):
    adata.X = np.log1p(adata.X)
    adata.uns["log1p"] = True


def scale(adata, reference=None, max_value=10):
    source = adata if reference is None else reference
    mean, std = source.uns.setdefault("scale", (adata.X.mean(0), adata.X.std(0) + 1e-8))
    adata.X = ((adata.X - mean) / std).clip(-max_value, max_value)


reference = sequence_run(1500, seed=1)
normalize_total(reference)
log1p(reference)
scale(reference)

query = sequence_run(500, seed=2)
normalize_total(query)
log1p(query)
scale(query, reference)


def tensors(adata):
    return torch.tensor(adata.X, dtype=torch.float32), torch.tensor(adata.cell_type)


torch.manual_seed(3)
x, y = tensors(reference)
xq, yq = tensors(query)
model = nn.Sequential(nn.Linear(GENES, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, len(TYPES)))
opt = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
ce = nn.CrossEntropyLoss()
for epoch in range(8):
    model.train()
    tot = 0.0
    for idx in torch.randperm(len(x)).split(50):
        loss = ce(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        out = model(xq)
        print(f"epoch {epoch + 1}: reference loss {tot / len(x):.4f}   query loss {ce(out, yq).item():.4f}   query acc {(out.argmax(1) == yq).float().mean().item():.3f}")
