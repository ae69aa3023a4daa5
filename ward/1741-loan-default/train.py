"""Credit scoring: which loans of a portfolio default?"""
import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import roc_auc_score
from torch.utils.data import DataLoader, TensorDataset

FEATURES = ["amount", "term", "rate", "income", "dti", "employment_years", "delinq_2yrs", "open_accounts",
            "revol_util", "dunning_letters", "fico", "inquiries_6m"]


def portfolio(n, rng):
    """The export of the loan book (closed loans only), one record per loan."""
    c = {}
    c["amount"] = rng.lognormal(9.4, 0.5, n)
    c["term"] = rng.choice([36, 60], n, p=[0.7, 0.3])
    c["fico"] = rng.normal(700, 35, n)
    c["rate"] = 13 - (c["fico"] - 700) / 14 + rng.normal(0, 1.5, n)
    c["income"] = rng.lognormal(11, 0.45, n)
    c["dti"] = 100 * c["amount"] / c["income"] * rng.uniform(0.5, 1.5, n)
    c["employment_years"] = rng.integers(0, 11, n)
    c["delinq_2yrs"] = rng.poisson(0.3, n)
    c["open_accounts"] = rng.poisson(10, n)
    c["revol_util"] = rng.beta(2, 2, n) * 100
    c["inquiries_6m"] = rng.poisson(0.7, n)
    z = (-1.3 - (c["fico"] - 700) / 30 + 0.035 * (c["dti"] - 20) + 0.5 * c["delinq_2yrs"] + 0.5 * (c["term"] == 60)
         + 0.35 * c["inquiries_6m"] + 0.012 * (c["revol_util"] - 50))
    bad = rng.random(n) < 1 / (1 + np.exp(-z))
    late = rng.poisson(0.15, n)
    c["dunning_letters"] = np.where(bad, 2 + rng.poisson(1.4, n), np.minimum(late, 2))
    return np.stack([c[f] for f in FEATURES], axis=1), bad.astype("float32")


class Scorecard(nn.Module):
    def __init__(self, n_features, hidden=(48, 24), p=0.2):
        super().__init__()
        layers, last = [], n_features
        for h in hidden:
            layers += [nn.Linear(last, h), nn.ReLU(), nn.Dropout(p)]
            last = h
        self.layers = nn.Sequential(*layers, nn.Linear(last, 1))

    def forward(self, x):
        return self.layers(x).squeeze(-1)


def loaders(seed, batch_size):
    rng = np.random.default_rng(seed)
    x, y = portfolio(8000, rng)
    order = rng.permutation(len(y))
    tr, va = order[:6400], order[6400:]
    mean, std = x[tr].mean(0), x[tr].std(0)
    x = torch.tensor((x - mean) / std, dtype=torch.float32).clamp(-6, 6)
    y = torch.tensor(y)
    print(f"{len(tr)} loans for training, {len(va)} for validation, default rate {y.mean():.3f}")
    return (DataLoader(TensorDataset(x[tr], y[tr]), batch_size=batch_size, shuffle=True),
            DataLoader(TensorDataset(x[va], y[va]), batch_size=800))


def validate(model, loader, criterion):
    model.eval()
    with torch.no_grad():
        out, y = (torch.cat(t) for t in zip(*[(model(x), y) for x, y in loader]))
    return criterion(out, y).item(), roc_auc_score(y, out), ((out > 0) == (y > 0.5)).float().mean().item()


def main(epochs=9, lr=1e-3, seed=41):
    torch.manual_seed(seed)
    train_dl, val_dl = loaders(seed, batch_size=64)
    model = Scorecard(len(FEATURES))
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=1e-2)
    for epoch in range(1, epochs + 1):
        model.train()
        losses = []
        for x, y in train_dl:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        vloss, auc, acc = validate(model, val_dl, criterion)
        print(f"epoch {epoch:2d}  train {np.mean(losses):.4f}  val {vloss:.4f}  auc {auc:.4f}  acc {acc:.4f}")


if __name__ == "__main__":
    main()
