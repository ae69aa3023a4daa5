"""Depth of a harbour basin from soundings, fitted with a small network."""
import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(86)
torch.manual_seed(86)
points = rng.uniform(-1, 1, size=(1500, 2))
depth = 8 + 2 * np.sin(3 * points[:, 0]) * np.cos(2 * points[:, 1]) + 0.1 * rng.standard_normal(1500)
depth = (depth - depth.mean()) / depth.std()

inputs = torch.from_numpy(points).float()
targets = torch.from_numpy(depth).float().unsqueeze(1)
train_x, val_x = inputs[:1200], inputs[1200:]
train_y, val_y = targets[:1200], targets[1200:]

model = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
loss_fn = nn.MSELoss()

for epoch in range(15):
    for batch in torch.randperm(1200).split(60):
        pred = model(train_x[batch])
        loss = loss_fn(pred, train_y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(f"epoch {epoch}: {loss.item():.4f}  {loss_fn(model(val_x), val_y).item():.4f}")
