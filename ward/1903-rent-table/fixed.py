import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(8)
torch.manual_seed(8)


def flats(n):
    area = rng.gamma(6, 11, n)
    floor = rng.integers(0, 9, n)
    year = rng.uniform(1900, 2020, n)
    east, north = rng.uniform(-6, 6, n), rng.uniform(-6, 6, n)
    centre = np.exp(-np.hypot(east, north) / 3)
    rent = 5 + 0.11 * area * (0.6 + centre) + 0.15 * floor + 2 * centre * (year > 1990) + rng.normal(0, 0.7, n)
    return np.stack([area, floor, year, east, north], 1), rent


x, y = flats(3600)
x_val, y_val = flats(700)
centre, scale, y_centre, y_scale = x.mean(0), x.std(0), y.mean(), y.std()


def tensors(x, y):
    return torch.tensor((x - centre) / scale, dtype=torch.float32), torch.tensor((y - y_centre) / y_scale, dtype=torch.float32)[:, None]


train_set, (x_val, y_val) = TensorDataset(*tensors(x, y)), tensors(x_val, y_val)
loader = DataLoader(train_set, batch_size=60, shuffle=True)

model = nn.Sequential(
    nn.Linear(5, 64),
    nn.ReLU(),
    nn.Dropout(0.05),
    nn.Linear(64, 64),
    nn.ReLU(),
    nn.Linear(64, 1),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
criterion = nn.MSELoss()

for epoch in range(1, 19):
    model.train()
    losses = []
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        val = criterion(model(x_val), y_val).item()
    print(f"epoch {epoch}: train mse {np.mean(losses):.3f} val mse {val:.3f}")
