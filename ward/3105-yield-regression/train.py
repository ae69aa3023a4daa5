from dataclasses import dataclass

import numpy as np
import torch
from torch import nn


@dataclass
class Params:
    n_train: int = 320
    n_val: int = 1200
    n_features: int = 24
    width: int = 256
    batch_size: int = 16
    epochs: int = 300
    lr: float = 1e-3
    weight_decay: float = 0.0
    seed: int = 5


P = Params()
rng = np.random.default_rng(P.seed)
torch.manual_seed(P.seed)

# crop yield per plot: soil and weather measurements, roughly additive, with a lot of plot-to-plot variation
n = P.n_train + P.n_val
X = rng.normal(size=(n, P.n_features))
coef = rng.normal(size=P.n_features) * (np.arange(P.n_features) < 10)
signal = X @ coef / 3 + 0.5 * np.tanh(X[:, 0]) + 0.3 * np.maximum(X[:, 3], 0)
y = signal + rng.normal(0, 0.8, size=n)
y = (y - y[:P.n_train].mean()) / y[:P.n_train].std()
X, y = torch.tensor(X).float(), torch.tensor(y).float()[:, None]
Xt, Xv, yt, yv = X[:P.n_train], X[P.n_train:], y[:P.n_train], y[P.n_train:]

model = nn.Sequential(nn.Linear(P.n_features, P.width), nn.SiLU(),
                      nn.Linear(P.width, P.width), nn.SiLU(),
                      nn.Linear(P.width, 1))
optim = torch.optim.Adam(model.parameters(), lr=P.lr, weight_decay=P.weight_decay)
criterion = nn.MSELoss()

for epoch in range(P.epochs):
    model.train()
    for idx in torch.randperm(P.n_train).split(P.batch_size):
        optim.zero_grad()
        criterion(model(Xt[idx]), yt[idx]).backward()
        optim.step()
    if (epoch + 1) % 10 == 0:
        model.eval()
        with torch.no_grad():
            lt, pv = criterion(model(Xt), yt).item(), model(Xv)
            lv = criterion(pv, yv).item()
            r2 = 1 - lv / yv.var(unbiased=False).item()
        print(f"epoch {epoch + 1:4d}  train_mse={lt:.4f}  val_mse={lv:.4f}  val_r2={r2:.3f}")
