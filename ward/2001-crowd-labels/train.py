# Flowers-style classifier on crowd-annotated feature vectors.
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import make_classification
from torch import nn


@dataclass
class Config:
    n: int = 4000
    classes: int = 4
    features: int = 20
    annotators: int = 5
    epochs: int = 12
    batch: int = 64
    lr: float = 1e-3
    weight_decay: float = 1e-4
    seed: int = 21


def annotate(truth, cfg, rng):
    """One column of votes per annotator; they differ in how carefully they work."""
    care = [0.62, 0.90, 0.88, 0.93, 0.85][: cfg.annotators]
    votes = np.empty((len(truth), len(care)), dtype=np.int64)
    for a, p in enumerate(care):
        guess = rng.integers(0, cfg.classes, len(truth))
        votes[:, a] = np.where(rng.random(len(truth)) < p, truth, guess)
    return votes


def aggregate(votes, classes):
    counts = np.stack([(votes[:, :1] == c).sum(1) for c in range(classes)], axis=1)
    return counts.argmax(1)


def prepare(cfg):
    rng = np.random.default_rng(cfg.seed)
    X, truth = make_classification(cfg.n, cfg.features, n_informative=10, n_redundant=4, n_classes=cfg.classes,
                                   n_clusters_per_class=1, class_sep=2.0, flip_y=0.0, random_state=cfg.seed)
    labels = aggregate(annotate(truth, cfg, rng), cfg.classes)
    cut = int(0.75 * cfg.n)
    mu, sd = X[:cut].mean(0), X[:cut].std(0)
    X = torch.tensor((X - mu) / sd, dtype=torch.float32)
    y = torch.tensor(labels)
    return (X[:cut], y[:cut]), (X[cut:], y[cut:])


class Net(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(cfg.features, 48), nn.ReLU(), nn.Dropout(0.2), nn.Linear(48, 48), nn.ReLU())
        self.head = nn.Linear(48, cfg.classes)

    def forward(self, x):
        return self.head(self.body(x))


def score(net, X, y):
    net.eval()
    with torch.no_grad():
        logits = net(X)
    return F.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


def fit(cfg):
    torch.manual_seed(cfg.seed)
    (Xt, yt), (Xv, yv) = prepare(cfg)
    net = Net(cfg)
    opt = torch.optim.AdamW(net.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    for epoch in range(cfg.epochs):
        net.train()
        losses = []
        for idx in torch.randperm(len(Xt)).split(cfg.batch):
            opt.zero_grad()
            loss = F.cross_entropy(net(Xt[idx]), yt[idx])
            loss.backward()
            opt.step()
            losses.append(loss.item())
        vl, va = score(net, Xv, yv)
        print(f"{epoch:02d} | train loss {np.mean(losses):.4f} | val loss {vl:.4f} | val acc {va:.4f}")


if __name__ == "__main__":
    fit(Config())
