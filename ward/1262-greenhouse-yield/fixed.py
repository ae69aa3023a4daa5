"""Yield per bed from a greenhouse table: polynomial terms of the twelve columns and a linear model on top."""
import argparse

import numpy as np
import torch
import torch.nn as nn
from sklearn.preprocessing import PolynomialFeatures, StandardScaler


def table(n, rng):
    x = rng.normal(size=(n, 12))
    coef = np.array([0.9, -0.6, 0.5, 0, 0.4, 0, -0.3, 0, 0.3, 0, 0, 0.2])
    y = x @ coef + 0.15 * x[:, 0] * x[:, 1] + rng.normal(scale=0.7, size=n)
    return x, y


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--degree", type=int, default=1)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--epochs", type=int, default=32)
    parser.add_argument("--batch-size", type=int, default=32)
    args = parser.parse_args()

    torch.manual_seed(50)
    rng = np.random.default_rng(50)
    raw, y = table(560, rng)
    poly = PolynomialFeatures(args.degree, include_bias=False)
    scaler = StandardScaler().fit(poly.fit_transform(raw[:160]))
    x = torch.tensor(scaler.transform(poly.transform(raw)), dtype=torch.float32)
    y = torch.tensor(y, dtype=torch.float32)
    x_train, y_train, x_val, y_val = x[:160], y[:160], x[160:], y[160:]
    print(f"{x.shape[1]} columns, {len(x_train)} beds")

    model = nn.Linear(x.shape[1], 1)
    loss_fn = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(1, args.epochs + 1):
        model.train()
        sse = 0.0
        for idx in torch.randperm(len(x_train)).split(args.batch_size):
            optimizer.zero_grad()
            loss = loss_fn(model(x_train[idx]).squeeze(-1), y_train[idx])
            loss.backward()
            optimizer.step()
            sse += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            val = loss_fn(model(x_val).squeeze(-1), y_val).item()
        if epoch <= 5 or epoch % 3 == 0:
            print(f"epoch {epoch:3d}  train mse {sse / len(x_train):.4f}  val mse {val:.4f}")


if __name__ == "__main__":
    main()
