"""Wind power from mast readings; one table row per quarter of an hour."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class MastTable(Dataset):
    def __init__(self, x, y):
        self.x = torch.as_tensor(x, dtype=torch.float32)
        self.y = torch.as_tensor(y, dtype=torch.float32)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def export(n, rng):
    x = rng.normal(size=(n, 6))
    y = np.tanh(1.2 * x[:, 0]) + 0.5 * x[:, 1] - 0.3 * x[:, 2] ** 2 + 0.3 * x[:, 3] * x[:, 4] + rng.normal(0, 0.1, n)
    return x, y


rng = np.random.default_rng(14)
torch.manual_seed(14)
x, y = export(1200, rng)
for row, sensor in [(51, 2), (188, 0), (402, 4), (640, 2), (777, 5), (1003, 1), (1111, 3)]:
    x[row, sensor] = -999.0                       # as the logger writes it
keep = (x > -900).all(1)
x, y = x[keep], y[keep]
xv, yv = export(400, rng)

train = DataLoader(MastTable(x, y), batch_size=30, shuffle=True)
valid = DataLoader(MastTable(xv, yv), batch_size=200)
net = nn.Sequential(nn.Linear(6, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
mse = nn.MSELoss()
for epoch in range(9):
    net.train()
    losses = []
    for a, b in train:
        loss = mse(net(a).squeeze(1), b)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        opt.step()
        losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        v = np.mean([mse(net(a).squeeze(1), b).item() for a, b in valid])
    print(f"epoch {epoch} median {np.median(losses):.4f} mean {np.mean(losses):.3f} worst {np.max(losses):.2f} val {v:.4f}")
