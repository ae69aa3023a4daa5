"""Ripeness of apples from six sensor readings. Trained on last year's harvest, applied to this year's, which was warmer and wetter."""
import numpy as np
import torch
from torch import nn

NAMES = ["sugar", "firmness", "starch", "red", "weight", "acid"]


def harvest(count, rng, warm=0.0):
    days = rng.uniform(-10, 10, count)
    sugar = 12 + 0.22 * days + 1.1 * warm + rng.normal(0, 0.6, count)
    firmness = 7.5 - 0.16 * days - 0.5 * warm + rng.normal(0, 0.5, count)
    starch = 5 + 0.3 * days + 0.4 * warm + rng.normal(0, 0.8, count)
    red = 55 + 2.2 * days + 5 * warm + rng.normal(0, 7, count)
    weight = 170 + 1.5 * days + 22 * warm + rng.normal(0, 22, count)
    acid = 4.4 - 0.07 * days - 0.3 * warm + rng.normal(0, 0.35, count)
    return np.stack([sugar, firmness, starch, red, weight, acid], 1).astype(np.float32), days.astype(np.float32)


rng = np.random.default_rng(40)
torch.manual_seed(40)
table, days = harvest(1800, rng)
mean, std = table[:1400].mean(0), table[:1400].std(0)


def prepare(rows):
    return torch.from_numpy((rows - mean) / std)


x, y = prepare(table[:1400]), torch.from_numpy(days[:1400] / 6).unsqueeze(1)
x_val, y_val = prepare(table[1400:]), torch.from_numpy(days[1400:] / 6).unsqueeze(1)
model = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(25):
    for rows in torch.randperm(len(x)).split(70):
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        val = nn.functional.mse_loss(model(x_val), y_val).item()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1}: train {loss.item():.4f}, validation {val:.4f}")

this_year, _ = harvest(500, rng, warm=1.0)
with torch.no_grad():
    ripe = 6 * model(prepare(this_year)).squeeze(1)
print(f"this year: {int((ripe > 0).sum())} of {len(ripe)} apples are ripe, median {ripe.median():.1f} days")
