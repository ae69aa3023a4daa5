"""Classify customer requests from embeddings; labels were collected from a crowd of annotators."""
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    classes: int = 5
    dim: int = 24
    rows: int = 7500
    hidden: int = 64
    lr: float = 1e-3
    batch: int = 64
    epochs: int = 18
    seed: int = 12


def collect(cfg):
    """Embeddings and eleven votes per request."""
    x, topic = make_classification(cfg.rows, cfg.dim, n_informative=12, n_redundant=4, n_classes=cfg.classes,
                                   n_clusters_per_class=1, class_sep=2.2, flip_y=0.0, random_state=cfg.seed)
    rng = np.random.default_rng(cfg.seed)
    votes = np.repeat(topic[:, None], 11, axis=1)
    slip = rng.random(votes.shape) < 0.33
    votes[slip] = rng.integers(0, cfg.classes, slip.sum())
    return StandardScaler().fit_transform(x).astype("float32"), votes


def loaders(cfg):
    x, votes = collect(cfg)
    votes = torch.from_numpy(votes)
    y = votes.mode(1).values
    x = torch.from_numpy(x)
    cut = int(0.75 * len(x))
    fit = TensorDataset(x[:cut], y[:cut])
    held = TensorDataset(x[cut:], y[cut:])
    return DataLoader(fit, cfg.batch, shuffle=True), DataLoader(held, 512)


def evaluate(model, loader, criterion):
    model.eval()
    loss, right, n = 0.0, 0, 0
    with torch.no_grad():
        for xb, yb in loader:
            out = model(xb)
            loss += criterion(out, yb).item() * len(yb)
            right += int((out.argmax(-1) == yb).sum())
            n += len(yb)
    return loss / n, right / n


def run(cfg):
    torch.manual_seed(cfg.seed)
    fit, held = loaders(cfg)
    model = nn.Sequential(nn.Linear(cfg.dim, cfg.hidden), nn.ReLU(), nn.Dropout(0.2),
                          nn.Linear(cfg.hidden, cfg.hidden), nn.ReLU(), nn.Linear(cfg.hidden, cfg.classes))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=1e-3)
    for epoch in range(cfg.epochs):
        model.train()
        for xb, yb in fit:
            loss = criterion(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        tl, ta = evaluate(model, fit, criterion)
        vl, va = evaluate(model, held, criterion)
        print(f"{epoch + 1:3d} | train loss {tl:.3f} acc {ta:.3f} | held-out loss {vl:.3f} acc {va:.3f}")


if __name__ == "__main__":
    run(Config())
