import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.metrics import roc_auc_score

FEATURES = ["log_income", "dti", "fico", "loan_amount", "term_60", "emp_years", "utilisation", "open_accounts",
           "inquiries", "installment", "recoveries"]


def loan_book(n, rng, closed=True):
    """A table of loans; for running loans the collection columns are still empty."""
    t = {}
    t["log_income"] = rng.normal(10.9, 0.5, n)
    t["dti"] = rng.gamma(4, 4.5, n)
    t["fico"] = rng.normal(695, 32, n)
    t["loan_amount"] = rng.uniform(2, 35, n)
    t["term_60"] = (rng.random(n) < 0.3).astype(float)
    t["emp_years"] = rng.integers(0, 11, n).astype(float)
    t["utilisation"] = rng.beta(2, 2, n)
    t["open_accounts"] = rng.poisson(11, n).astype(float)
    t["inquiries"] = rng.poisson(0.8, n).astype(float)
    t["installment"] = t["loan_amount"] * 1000 * 1.12 / np.where(t["term_60"] > 0, 60, 36)
    burden = t["installment"] * 12 / np.exp(t["log_income"])
    risk = (-0.025 * (t["fico"] - 695) + 0.05 * (t["dti"] - 18) + 14 * (burden - 0.12) + 0.8 * t["term_60"]
            + 1.6 * (t["utilisation"] - 0.5) + 0.4 * (t["inquiries"] - 0.8) - 0.5)
    default = rng.random(n) < 1 / (1 + np.exp(-1.3 * risk))
    if closed:
        t["recoveries"] = np.where(default, 1000 * t["loan_amount"] * rng.beta(2, 8, n), 0.0)
    else:
        t["recoveries"] = np.zeros(n)
    return t, default.astype(np.float32)


def design_matrix(table):
    return np.stack([table[c] for c in FEATURES], axis=1)


class CreditModel(nn.Module):
    def __init__(self, n_features, hidden=32, p=0.1):
        super().__init__()
        self.fc1 = nn.Linear(n_features, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, 1)
        self.drop = nn.Dropout(p)

    def forward(self, x):
        x = self.drop(F.relu(self.fc1(x)))
        x = self.drop(F.relu(self.fc2(x)))
        return self.fc3(x).squeeze(-1)


def score(model, x, y):
    model.eval()
    with torch.no_grad():
        logit = model(x)
    loss = F.binary_cross_entropy_with_logits(logit, y).item()
    acc = ((logit > 0).float() == y).float().mean().item()
    return loss, acc, roc_auc_score(y.numpy(), logit.numpy())


def main():
    rng = np.random.default_rng(8)
    torch.manual_seed(8)
    table, default = loan_book(9000, rng)
    x, y = design_matrix(table), torch.from_numpy(default)
    mean, std = x[:7000].mean(0), x[:7000].std(0)
    x = torch.tensor((x - mean) / std, dtype=torch.float32)
    x_train, y_train, x_val, y_val = x[:7000], y[:7000], x[7000:], y[7000:]
    print(f"defaults: train {y_train.mean():.3f} val {y_val.mean():.3f}")

    model = CreditModel(len(FEATURES))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(1, 13):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(y_train)).split(50):
            loss = F.binary_cross_entropy_with_logits(model(x_train[idx]), y_train[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        vl, va, auc = score(model, x_val, y_val)
        print(f"epoch {epoch:2d} train {total / len(y_train):.4f} | val loss {vl:.4f} acc {va:.3f} auc {auc:.3f}")

    table, default = loan_book(3000, rng, closed=False)
    x_new = torch.tensor((design_matrix(table) - mean) / std, dtype=torch.float32)
    _, acc, auc = score(model, x_new, torch.from_numpy(default))
    print(f"applications of the current quarter: acc {acc:.3f} auc {auc:.3f}")


if __name__ == "__main__":
    main()
