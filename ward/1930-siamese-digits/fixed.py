"""Metric learning on digits: embeddings with a contrastive loss over all pairs of a batch."""
import argparse

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


class Embedder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, x):
        return nn.functional.normalize(self.body(x), dim=1)


def contrastive(z, y, margin=1.0):
    """Mean over pairs: pull equal digits together, push others at least `margin` apart."""
    i, j = torch.triu_indices(len(z), len(z), 1)
    d2 = (z[i] - z[j]).pow(2).sum(1)
    apart = (margin - (d2 + 1e-6).sqrt()).clamp(min=0).pow(2)
    return torch.where(y[i] == y[j], d2, apart).mean()


def knn_accuracy(model, x, y, ref_x, ref_y, k=5):
    model.eval()
    with torch.no_grad():
        near = torch.cdist(model(x), model(ref_x)).topk(k, largest=False).indices
    return (ref_y[near].mode(1).values == y).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=7)
    ap.add_argument("--batch-size", type=int, default=20)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    d = load_digits()
    x, y = torch.tensor(d.data, dtype=torch.float32) / 8 - 1, torch.tensor(d.target)
    perm = torch.randperm(len(x))
    tr, va = perm[:640], perm[640:1240]
    loader = DataLoader(TensorDataset(x[tr], y[tr]), batch_size=args.batch_size, shuffle=True, drop_last=True)
    model = Embedder()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    print(f"before: knn {knn_accuracy(model, x[va], y[va], x[tr], y[tr]):.3f}")
    for epoch in range(args.epochs):
        model.train()
        seen = []
        for xb, yb in loader:
            loss = contrastive(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            seen.append(loss.item())
        acc = knn_accuracy(model, x[va], y[va], x[tr], y[tr])
        print(f"epoch {epoch + 1}: loss {sum(seen) / len(seen):.4f}  knn {acc:.3f}")


if __name__ == "__main__":
    main()
