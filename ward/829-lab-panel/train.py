"""Three blood values at once from absorbance readings; the export has gaps."""
import io
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(3)
torch.manual_seed(3)


def export(n):
    reading = rng.normal(size=(n, 10))
    w = np.random.default_rng(50).normal(size=(10, 3)) / 10 ** 0.5
    value = np.tanh(reading @ w) * 1.2 + 0.4 * reading[:, :3] + 0.05 * rng.normal(size=(n, 3))
    lines = []
    for r, v in zip(reading, value):
        cells = [f"{c:.4f}" for c in (*r, *v)]
        if rng.random() < 0.0015:
            cells[-1] = "n/a"                               # haemolytic sample, third value not reported
        lines.append(",".join(cells))
    return "\n".join(lines)


table = np.genfromtxt(io.StringIO(export(2600)), delimiter=",", dtype=np.float32)
x, y = torch.from_numpy(table[:, :10]), torch.from_numpy(table[:, 10:])
train = DataLoader(TensorDataset(x[:2200], y[:2200]), batch_size=44, shuffle=True)


class Panel(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 48), nn.GELU(), nn.Linear(48, 48), nn.GELU())
        self.heads = nn.ModuleList([nn.Linear(48, 1) for _ in range(3)])

    def forward(self, x):
        h = self.trunk(x)
        return torch.cat([head(h) for head in self.heads], 1)


model = Panel()
opt = torch.optim.Adam(model.parameters(), lr=6e-3)
for epoch in range(6):
    model.train()
    s = 0.0
    for xb, yb in train:
        pred = model(xb)
        loss = nn.functional.smooth_l1_loss(pred, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        s += loss.item()
    model.eval()
    with torch.no_grad():
        err = (model(x[2200:]) - y[2200:]).abs()
        err = err[~torch.isnan(err).any(1)].mean(0).tolist()
    print(f"epoch {epoch} loss {s / len(train):.4f} test mae " + " ".join(f"{e:.3f}" for e in err))
