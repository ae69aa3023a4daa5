"""Probability of a claim next year, to reserve money for it."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(25)


def policies(n=7000, seed=25):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 14)).astype("float32")
    risk = 1.5 * x[:, 0] - 1.2 * x[:, 1] + 1.1 * x[:, 2] + 0.9 * np.abs(x[:, 3]) * x[:, 4] + 0.8 * (x[:, 5] > 0.8) - 3.2
    claim = rng.random(n) < 1 / (1 + np.exp(-risk))
    return torch.from_numpy(x), torch.from_numpy(claim.astype("float32"))


class RiskNet(nn.Module):
    def __init__(self, n_in, width=32):
        super().__init__()
        self.fc1, self.fc2, self.out = nn.Linear(n_in, width), nn.Linear(width, width), nn.Linear(width, 1)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        x = self.drop(F.relu(self.fc1(x)))
        x = self.drop(F.relu(self.fc2(x)))
        return self.out(x).squeeze(-1)


X, y = policies()
train_set, val_set = random_split(TensorDataset(X, y), [5000, 2000])
train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
val_loader = DataLoader(val_set, batch_size=500)
model = RiskNet(X.shape[1])
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.02)

for epoch in range(1, 13):
    model.train()
    running = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    with torch.no_grad():
        prob = torch.cat([torch.sigmoid(model(xb)) for xb, _ in val_loader])
    true = torch.cat([yb for _, yb in val_loader])
    brier = ((prob - true) ** 2).mean().item()
    print(f"epoch {epoch:2d} loss {running / len(train_loader):.4f} brier {brier:.4f} acc {((prob > 0.5) == (true > 0.5)).float().mean():.3f}")

print(f"reserve for {prob.sum().item():.0f} claims in 2000 policies; there were {int(true.sum())}")
