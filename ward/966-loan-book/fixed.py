import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(3)
torch.manual_seed(3)
N = 2400

income = rng.lognormal(10.3, 0.4, N)
amount = rng.lognormal(9.2, 0.5, N)
years = rng.integers(1, 30, N)
late = rng.poisson(0.8, N)
risk = 1.2 * np.log(amount / income) + 0.5 * late - 0.03 * years + rng.logistic(0, 1, N)
default = (risk > np.quantile(risk, 0.65)).astype("float32")
collected = np.where(default > 0, 0.3 * amount * rng.uniform(0.5, 1.0, N), 0.0)

columns = [np.log(income), np.log(amount), years, late, rng.normal(0, 1, N)]
X = np.column_stack(columns).astype("float32")
X = (X - X[:1900].mean(0)) / X[:1900].std(0)
X, y = torch.from_numpy(X), torch.from_numpy(default)[:, None]

train_loader = DataLoader(TensorDataset(X[:1900], y[:1900]), batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(X.shape[1], 32), nn.ReLU(), nn.Linear(32, 1))
loss_fn = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(12):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        out = model(X[1900:])
        val = loss_fn(out, y[1900:]).item()
        acc = ((out > 0) == (y[1900:] > 0)).float().mean().item()
    print(f"epoch {epoch + 1} val {val:.4f} acc {acc:.3f}")
