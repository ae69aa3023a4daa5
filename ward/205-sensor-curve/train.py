import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(7)
torch.manual_seed(7)

# sensor response: smooth curve + measurement noise with sigma 0.5
x = rng.uniform(-2, 2, size=(3000, 1)).astype(np.float32)
y = (np.sin(2 * x) + 0.5 * x + rng.normal(0, 0.5, size=x.shape)).astype(np.float32)
train = TensorDataset(torch.from_numpy(x[:2000]), torch.from_numpy(y[:2000]))
xv, yv = torch.from_numpy(x[2000:]), torch.from_numpy(y[2000:])
loader = DataLoader(train, batch_size=100, shuffle=True)

model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.MSELoss()

for epoch in range(30):
    model.train()
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    model.eval()
    with torch.no_grad():
        val = criterion(model(xv), yv).item()
    print(f"epoch {epoch:2d} | train mse {total / len(train):.4f} | val mse {val:.4f}")
