"""Chargeback risk of card payments: tabular features and a small network."""
import argparse

import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split


def make_payments(n, seed):
    rng = np.random.default_rng(seed)
    merchant = rng.integers(0, 3 * n, n)
    amount = rng.lognormal(3.5, 1.0, n)
    hour = rng.integers(0, 24, n)
    age = rng.gamma(2.0, 200.0, n)
    foreign = rng.random(n) < 0.25
    tries = rng.poisson(0.7, n)
    score = 0.9 * (np.log(amount) - 3.5) + 1.4 * foreign + 0.8 * tries - 0.003 * age + 0.7 * np.cos(hour / 24 * 2 * np.pi)
    chargeback = (score + rng.logistic(0, 0.7, n) > 1.2).astype("int64")
    return merchant, amount, hour, age, foreign, tries, chargeback


def mean_by(key, value):
    """Mean of value per key, laid out row by row."""
    _, row = np.unique(key, return_inverse=True)
    return (np.bincount(row, weights=value) / np.bincount(row))[row]


def features(table):
    merchant, amount, hour, age, foreign, tries, chargeback = table
    columns = [np.log(amount), np.sin(hour / 24 * 2 * np.pi), np.cos(hour / 24 * 2 * np.pi), np.sqrt(age), foreign, tries,
               mean_by(merchant, amount)]
    return np.column_stack(columns).astype("float32"), chargeback


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=9000)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=8)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    X, y = features(make_payments(args.rows, args.seed))
    X_tr, X_va, y_tr, y_va = train_test_split(X, y, test_size=0.25, stratify=y, random_state=args.seed)
    mean, std = X_tr.mean(0), X_tr.std(0)
    X_tr, X_va = torch.from_numpy((X_tr - mean) / std), torch.from_numpy((X_va - mean) / std)
    y_tr, y_va = torch.from_numpy(y_tr).float(), torch.from_numpy(y_va).float()

    model = nn.Sequential(nn.Linear(X.shape[1], 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 1))
    opt = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=1e-5)
    bce = nn.BCEWithLogitsLoss()
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(y_tr)).split(64):
            opt.zero_grad()
            loss = bce(model(X_tr[idx]).squeeze(1), y_tr[idx])
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            logit = model(X_va).squeeze(1)
        auc = roc_auc_score(y_va.numpy(), logit.numpy())
        print(f"epoch {epoch + 1} train {total / len(y_tr):.4f} val {bce(logit, y_va).item():.4f} auc {auc:.3f}")


if __name__ == "__main__":
    main()
