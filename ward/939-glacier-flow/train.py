"""Ice speed at points of a glacier, conditional on slope and season."""
import numpy as np
import torch
import torch.nn as nn

np.random.seed(0)
torch.manual_seed(0)


def survey(n):
    slope = np.random.uniform(-1, 1, n)
    season = np.random.uniform(-1, 1, n)
    depth = np.random.uniform(-1, 1, n)
    speed = np.sin(3 * slope) + 0.5 * np.cos(2 * season) * depth + 0.1 * np.random.randn(n)
    return torch.tensor(np.stack([slope, season, depth], 1), dtype=torch.float32), torch.tensor(speed, dtype=torch.float32)


X, Y = survey(1600)
Xv, Yv = survey(400)
model = nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.3)

history = []
for epoch in range(10):
    model.train()
    perm = torch.randperm(len(X))
    for k in range(0, len(X), 40):
        b = perm[k:k + 40]
        optimizer.zero_grad()
        loss = criterion(model(X[b]).flatten(), Y[b])
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    model.eval()
    with torch.no_grad():
        v = criterion(model(Xv).flatten(), Yv).item()
    print("epoch %2d  train %.4f  val %.4f" % (epoch, np.mean(history[-40:]), v))
