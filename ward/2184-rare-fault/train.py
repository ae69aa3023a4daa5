import argparse

import numpy as np
import torch
from sklearn.metrics import average_precision_score, roc_auc_score
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def parts(n, rng):
    """About 3 % of the parts are faulty."""
    x = rng.normal(size=(n, 18)).astype("float32")
    x[:, 5:8] = np.exp(0.4 * x[:, 5:8])
    risk = 1.8 * x[:, 0] + 1.4 * x[:, 1] * x[:, 2] - 1.5 * np.abs(x[:, 3]) + 1.2 * x[:, 5] - 5.0
    y = (rng.random(n) < 1 / (1 + np.exp(-1.6 * risk))).astype("float32")
    return x, y


def report(model, x, y):
    model.eval()
    with torch.no_grad():
        logit = model(x).squeeze(1)
    hit = (logit > 0).float()
    recall = hit[y == 1].mean().item()
    specificity = 1 - hit[y == 0].mean().item()
    return logit, recall, specificity


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--wd", type=float, default=5e-2)
    args = p.parse_args()
    torch.manual_seed(44)
    rng = np.random.default_rng(44)
    x, y = parts(24000, rng)
    xv, yv = parts(8000, rng)
    mean, std = x.mean(0), x.std(0)
    x, y, xv, yv = map(torch.from_numpy, ((x - mean) / std, y, (xv - mean) / std, yv))
    print(f"faulty: {int(y.sum())} of {len(y)} in training, {int(yv.sum())} of {len(yv)} in validation")

    model = nn.Sequential(nn.Linear(18, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))
    criterion = nn.BCEWithLogitsLoss(pos_weight=(1 - y.mean()) / y.mean())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.wd)
    loader = DataLoader(TensorDataset(x, y), batch_size=128, shuffle=True)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4 * args.lr, total_steps=args.epochs * len(loader))
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = criterion(model(xb).squeeze(1), yb)
            loss.backward()
            optimizer.step()
            scheduler.step()
            total += loss.item() * len(yb)
        logit, recall, spec = report(model, xv, yv)
        print(f"epoch {epoch + 1:2d}  loss {total / len(y):.4f}  val {criterion(logit, yv).item():.4f}  recall {recall:.3f}  specificity {spec:.3f}  "
              f"auc {roc_auc_score(yv, logit):.4f}  ap {average_precision_score(yv, logit):.3f}")


main()
