import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)


def gauges(n):
    rain = rng.gamma(2.0, 8.0, (n, 3))
    soil = rng.uniform(100, 400, (n, 2))
    temp = rng.normal(12, 6, (n, 1))
    x = np.concatenate([rain, soil, temp], 1)
    level = 0.03 * rain.sum(1) + 0.004 * soil[:, 0] * (rain[:, 0] > 15) - 0.02 * temp[:, 0] + rng.normal(0, 0.15, n)
    return x, level[:, None]


X, y = gauges(1600)
train_x, val_x = X[:1200], X[1200:]
train_y, val_y = y[:1200], y[1200:]

mean, std = train_x.mean(0), train_x.std(0)
train_x = (train_x - mean) / std
y_mean, y_std = train_y.mean(), train_y.std()
train_y, val_y = (train_y - y_mean) / y_std, (val_y - y_mean) / y_std

train_x, val_x, train_y, val_y = (torch.tensor(a, dtype=torch.float32) for a in (train_x, val_x, train_y, val_y))
model = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))
opt = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(20):
    model.train()
    for ids in torch.randperm(len(train_x)).split(50):
        loss = nn.functional.mse_loss(model(train_x[ids]), train_y[ids])
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        val = nn.functional.mse_loss(model(val_x), val_y)
    if epoch % 4 == 3:
        print(f"{epoch + 1:3d}  train {loss.item():.4f}  val {val.item():.4f}")
