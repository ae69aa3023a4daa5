"""Will a customer accept the loan offer? Tabular data, small MLP.

Usage: python train.py [--epochs N] [--lr LR] [--hidden H]
"""
import argparse
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def customers(n, rng):
    income = rng.lognormal(8.0, 0.5, n)                # per month
    balance = rng.normal(4000, 2500, n)
    age = rng.uniform(20, 75, n)
    rate = rng.uniform(0.02, 0.09, n)                  # offered interest
    share = rng.beta(2, 4, n)                          # of the income already bound
    score = (3.0 * (0.055 - rate) / 0.02 - 2.0 * (share - 0.33) / 0.18 + 0.8 * (income - 3300) / 1700
             - 0.8 * (balance - 4000) / 2500 - 0.5 * ((age - 45) / 16) ** 2 + 0.5)
    accepted = rng.random(n) < 1 / (1 + np.exp(-2 * score))
    table = np.stack([income, balance, age, rate, share], axis=1)
    return table.astype(np.float32), accepted.astype(np.float32)


def evaluate(model, loader, criterion):
    model.eval()
    loss = hits = count = 0
    with torch.no_grad():
        for x, y in loader:
            z = model(x).squeeze(1)
            loss += criterion(z, y).item() * len(y)
            hits += ((z > 0) == (y > 0.5)).sum().item()
            count += len(y)
    return loss / count, hits / count


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--hidden", type=int, default=32)
    args = ap.parse_args()
    torch.manual_seed(6)
    table, accepted = customers(4000, np.random.default_rng(6))
    x, y = torch.from_numpy((table - table[:3000].mean(0)) / table[:3000].std(0)), torch.from_numpy(accepted)
    train = DataLoader(TensorDataset(x[:3000], y[:3000]), batch_size=50, shuffle=True)
    val = DataLoader(TensorDataset(x[3000:], y[3000:]), batch_size=500)
    model = nn.Sequential(nn.Linear(5, args.hidden), nn.Tanh(),
                          nn.Linear(args.hidden, args.hidden), nn.Tanh(),
                          nn.Linear(args.hidden, 1))
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        for xb, yb in train:
            optimizer.zero_grad()
            loss = criterion(model(xb).squeeze(1), yb)
            loss.backward()
            optimizer.step()
            running += loss.item()
        val_loss, val_acc = evaluate(model, val, criterion)
        print(f"epoch {epoch + 1:2d} | train {running / len(train):.4f} | val {val_loss:.4f} | acc {val_acc:.3f}")


if __name__ == "__main__":
    main()
