"""Probability that an insurance policy lapses within the year. The probabilities go into the reserve calculation."""
import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def portfolio(n, rng):
    x = rng.normal(size=(n, 10)).astype("float32")
    z = 1.1 * x[:, 0] - 0.8 * x[:, 1] + 0.7 * x[:, 2] * (x[:, 3] > 0) - 3.0
    y = (rng.random(n) < 1 / (1 + np.exp(-z))).astype("float32")
    return x, y


def undersample(x, y, rng):
    """as many staying as lapsing policies"""
    pos, neg = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    keep = np.concatenate([pos, rng.choice(neg, size=len(pos), replace=False)])
    return x[keep], y[keep]


def calibration_error(p, y, bins=10):
    edges = torch.linspace(0, 1, bins + 1)
    err = 0.0
    for lo, hi in zip(edges[:-1], edges[1:]):
        m = (p > lo) & (p <= hi)
        if m.any():
            err += m.float().mean().item() * abs(p[m].mean().item() - y[m].mean().item())
    return err


class LapseModel(nn.Module):
    def __init__(self, n_features, prior_shift=0.0):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_features, 24), nn.ELU(), nn.Linear(24, 1))
        self.prior_shift = prior_shift

    def forward(self, x):
        z = self.net(x).squeeze(1)
        return z if self.training else z + self.prior_shift


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--policies", type=int, default=24000)
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args([])
    rng = np.random.default_rng(9)
    torch.manual_seed(9)

    x, y = portfolio(args.policies, rng)
    x_val, y_val = map(torch.from_numpy, portfolio(4000, rng))
    xb, yb = undersample(x, y, rng)
    print(f"lapse rate {y.mean():.3f} -> {yb.mean():.3f} in {len(yb)} training rows")
    loader = DataLoader(TensorDataset(torch.from_numpy(xb), torch.from_numpy(yb)), batch_size=40, shuffle=True)

    model = LapseModel(x.shape[1], prior_shift=float(np.log(y.mean() / (1 - y.mean()))))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    bce = nn.BCEWithLogitsLoss()
    for epoch in range(args.epochs):
        model.train()
        losses = []
        for bx, by in loader:
            loss = bce(model(bx), by)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            logits = model(x_val)
        p = logits.sigmoid()
        print(f"epoch {epoch + 1}  train {np.mean(losses):.4f}  val {bce(logits, y_val):.4f}  "
              f"expected lapses {p.sum():.0f} (seen {y_val.sum():.0f})  ECE {calibration_error(p, y_val):.3f}")


if __name__ == "__main__":
    main()
