"""Probability of default for consumer loans; the expected loss of the book is computed from it."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.metrics import roc_auc_score

SEED = 44
FEATURES = ["income", "debt", "age", "late", "utilisation", "tenure", "enquiries", "limit"]


def loans(n, rng):
    x = rng.normal(size=(n, len(FEATURES)))
    score = (-1.2 * x[:, 0] + 1.1 * x[:, 1] + 1.3 * x[:, 3] + 0.9 * x[:, 4] * (x[:, 6] > 0) - 0.5 * x[:, 5] - 2.3)
    default = rng.random(n) < 1 / (1 + np.exp(-score))
    amount = np.exp(rng.normal(8.5, 0.6, n))
    return x.astype("float32"), default.astype("float32"), amount.astype("float32")


def build(width=32):
    return nn.Sequential(nn.Linear(len(FEATURES), width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))


def predict(model, x):
    model.eval()
    with torch.no_grad():
        return torch.sigmoid(model(x).squeeze(1))


def main():
    rng = np.random.default_rng(SEED)
    torch.manual_seed(SEED)
    x, y, _ = loans(9000, rng)
    xv, yv, amount = loans(3000, rng)
    x, y, xv, yv, amount = map(torch.from_numpy, (x, y, xv, yv, amount))
    pos_weight = (y == 0).sum() / (y == 1).sum()
    print(f"default rate {y.mean():.3f}")

    model = build()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
    epochs = 15
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=epochs)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for ids in torch.randperm(len(y)).split(64):
            logit = model(x[ids]).squeeze(1)
            loss = F.binary_cross_entropy_with_logits(logit, y[ids], pos_weight=pos_weight)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(ids)
        sched.step()
        if epoch % 2 == 0:
            p = predict(model, xv)
            print(f"epoch {epoch:2d} train {total / len(y):.4f} val log-loss {F.binary_cross_entropy(p, yv):.4f} "
                  f"auc {roc_auc_score(yv, p):.4f}")

    p = predict(model, xv)
    print(f"expected loss of the book {(p * amount).sum() / 1e6:.2f}m, observed {(yv * amount).sum() / 1e6:.2f}m")
    for lo in np.arange(0, 1, 0.2):
        inside = (p >= lo) & (p < lo + 0.2)
        if inside.any():
            print(f"  PD {lo:.1f}-{lo + 0.2:.1f}: {int(inside.sum()):4d} loans, mean PD {p[inside].mean():.3f}, "
                  f"defaulted {yv[inside].mean():.3f}")


if __name__ == "__main__":
    main()
