"""Will this invoice be paid late? Trained on the closed invoices of last year, used on the open ones."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FEATURES = ["amount", "terms", "customer_years", "late_share", "orders", "disputes", "discount"]


def ledger(n, rng, age):
    """n invoices written `age` days ago, and whether they were (or will be) paid late."""
    t = {"amount": rng.lognormal(7, 1, n), "terms": rng.choice([14, 30, 60], n).astype(float),
         "customer_years": rng.gamma(2, 3, n), "late_share": rng.beta(1.2, 2.2, n),
         "orders": rng.poisson(12, n).astype(float), "disputes": rng.poisson(0.3, n).astype(float),
         "discount": rng.choice([0, 2, 3], n, p=[0.7, 0.2, 0.1]).astype(float)}
    score = (6.5 * (t["late_share"] - 0.35) + 1.0 * (np.log(t["amount"]) - 7) - 0.22 * (t["customer_years"] - 6)
             - 0.03 * (t["terms"] - 30) + 1.2 * t["disputes"] - 0.5 * t["discount"])
    t["late"] = (score + 0.9 * rng.logistic(size=n) > 0.2).astype("float32")
    overdue = (t["late"] > 0) & (age > t["terms"])
    t["reminders"] = np.where(overdue, 1 + rng.poisson(0.8, n), rng.random(n) < 0.015).astype(float)
    return t


def matrix(table):
    cols = [np.log(table[f]) if f == "amount" else table[f] for f in FEATURES]
    return np.stack(cols, 1)


def tensors(X, table, mean, std):
    return torch.tensor((X - mean) / std, dtype=torch.float32), torch.from_numpy(table["late"])


def accuracy(model, X, y):
    model.eval()
    with torch.no_grad():
        return ((model(X)[:, 0] > 0) == (y > 0.5)).float().mean().item()


def main():
    torch.manual_seed(12)
    rng = np.random.default_rng(12)
    closed, checked, still_open = ledger(4000, rng, 365), ledger(1000, rng, 365), ledger(1000, rng, 5)
    raw = matrix(closed)
    mean, std = raw.mean(0), raw.std(0)
    X, y = tensors(raw, closed, mean, std)
    X_val, y_val = tensors(matrix(checked), checked, mean, std)
    X_new, y_new = tensors(matrix(still_open), still_open, mean, std)

    model = nn.Sequential(nn.Linear(len(FEATURES), 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss_fn = nn.BCEWithLogitsLoss()
    loader = DataLoader(TensorDataset(X, y), batch_size=64, shuffle=True)
    for epoch in range(1, 13):
        model.train()
        total = 0.0
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = loss_fn(model(xb)[:, 0], yb)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch:2d} loss {total / len(loader):.4f} val acc {accuracy(model, X_val, y_val):.3f}")
    print(f"late share {y_new.mean():.2f}, accuracy on the open invoices {accuracy(model, X_new, y_new):.3f}")


if __name__ == "__main__":
    main()
