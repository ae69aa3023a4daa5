# inflow of a reservoir from the weather of the last two weeks
import math
import numpy as np
import torch
from torch import nn

torch.manual_seed(3)
rng = np.random.default_rng(3)

# %% six years of daily weather and the river gauge
days = 2200
season = np.sin(2 * math.pi * np.arange(days) / 365)
rain = rng.gamma(0.6, 1.5, days) * (rng.random(days) < 0.45 + 0.15 * season)
temp = 10 - 9 * season + rng.normal(0, 2, days)
soil, flow = 0.0, []
for d in range(days):
    soil = 0.8 * soil + rain[d]
    flow.append(0.25 * soil + 0.03 * max(temp[d] - 5, 0) + rng.normal(0, 0.05))
gauge = np.array(flow)
gauge[rng.choice(days, 9, replace=False)] = np.nan      # the gauge sends nothing during maintenance

# %% windows
WINDOW = 14
weather = np.stack([rain / 1.5, (temp - 10) / 8], axis=1)
x = np.stack([weather[d - WINDOW + 1:d + 1] for d in range(WINDOW - 1, days)])
y = gauge[WINDOW - 1:]
x, y = x[~np.isnan(y)], y[~np.isnan(y)]
x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
n_train = 1700
x_train, y_train, x_test, y_test = x[:n_train], y[:n_train], x[n_train:], y[n_train:]

# %% model
gru = nn.GRU(2, 24, batch_first=True)
readout = nn.Linear(24, 1)
params = list(gru.parameters()) + list(readout.parameters())
optimizer = torch.optim.Adam(params, lr=5e-3)


def predict(batch):
    out, _ = gru(batch)
    return readout(out[:, -1]).squeeze(1)


# %% training
for epoch in range(9):
    losses = []
    for idx in torch.randperm(n_train).split(50):
        loss = nn.functional.mse_loss(predict(x_train[idx]), y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(params, 5.0)
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        test = nn.functional.mse_loss(predict(x_test), y_test).item()
    print(f"epoch {epoch:2d}  train mse {np.mean(losses):.4f}  test mse {test:.4f}")
