import copy

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_friedman2
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(19)


class CircuitRegressor(nn.Module):
    def __init__(self, n_in, width=48):
        super().__init__()
        self.inp = nn.Linear(n_in, width)
        self.mid = nn.Linear(width, width)
        self.out = nn.Linear(width, 1)
        self.act = nn.SiLU()

    def forward(self, x):
        h = self.act(self.inp(x))
        h = h + self.act(self.mid(h))
        return self.out(h).squeeze(-1)


X, y = make_friedman2(n_samples=4000, noise=40.0, random_state=19)
n = 3200
sx = StandardScaler().fit(X[:n])
X = torch.tensor(sx.transform(X), dtype=torch.float32)
y = torch.tensor((y - y[:n].mean()) / y[:n].std(), dtype=torch.float32)
train = DataLoader(TensorDataset(X[:n], y[:n]), batch_size=64, shuffle=True)
Xv, yv = X[n:], y[n:]

model = CircuitRegressor(X.shape[1])
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
# cycles of 4, 8 and 16 epochs (Loshchilov & Hutter)
sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=4, T_mult=2, eta_min=1e-4)
best, best_state = float("inf"), None
for epoch in range(28):
    model.train()
    total = 0.0
    for i, (xb, yb) in enumerate(train):
        loss = nn.functional.mse_loss(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step(epoch + (i + 1) / len(train))
        total += loss.item() * len(yb)
    model.eval()
    with torch.no_grad():
        val = nn.functional.mse_loss(model(Xv), yv).item()
    if val < best:
        best, best_state = val, copy.deepcopy(model.state_dict())
    print(f"{epoch + 1:2d} lr {opt.param_groups[0]['lr']:.4f} train {total / n:.4f} val {val:.4f} R2 {1 - val / yv.var().item():.4f}")
model.load_state_dict(best_state)
print(f"kept the weights with val {best:.4f}")
