"""Strength of fired bricks from twelve readings of the kiln's sensors."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(89)
torch.manual_seed(89)


def firings(n):
    readings = rng.normal(size=(n, 12)).astype(np.float32)
    strength = 1.5 * readings[:, 0] - readings[:, 4] + np.tanh(2 * readings[:, 7]) + 0.1 * rng.normal(size=n)
    return readings, strength.astype(np.float32)


readings, strength = firings(960)
val_readings, val_strength = firings(240)
offline = rng.choice(960, size=3, replace=False)
readings[offline, 4] = -999.0

train_x, train_y = torch.from_numpy(readings), torch.from_numpy(strength)
loader = DataLoader(TensorDataset(train_x, train_y), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.SmoothL1Loss()

for epoch in range(14):
    total = 0.0
    for x, y in loader:
        prediction = model(x).squeeze(1)
        loss = criterion(prediction, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    with torch.no_grad():
        val = criterion(model(torch.from_numpy(val_readings)).squeeze(1), torch.from_numpy(val_strength)).item()
    print(f"epoch {epoch}: train {total / 960:.4f}  val {val:.4f}")
