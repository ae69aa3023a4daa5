"""House prices (synthetic register) on a box with little memory: small batches, gradients summed over several."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

MICRO, GROUP, EPOCHS = 16, 4, 14
torch.manual_seed(40)


def register(n, seed):
    rng = np.random.default_rng(seed)
    area, rooms, age = rng.gamma(6, 18, n), rng.integers(1, 7, n), rng.uniform(0, 90, n)
    lat, lon, floor = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n), rng.integers(0, 9, n)
    price = 2.1 * area * (1 + 0.5 * np.exp(-3 * (lat ** 2 + lon ** 2))) + 9 * rooms - 0.6 * age + 0.004 * age ** 2 + 3 * floor
    price += rng.normal(0, 14, n)
    return np.stack([area, rooms, age, lat, lon, floor], 1), price


x, y = register(5990, 1)
xv, yv = register(1500, 2)
mx, sx, my, sy = x.mean(0), x.std(0), y.mean(), y.std()


def dataset(x, y):
    return TensorDataset(torch.tensor((x - mx) / sx, dtype=torch.float32), torch.tensor((y - my) / sy, dtype=torch.float32)[:, None])


train_dl = DataLoader(dataset(x, y), batch_size=MICRO, shuffle=True)
val_x, val_y = dataset(xv, yv).tensors
net = nn.Sequential(nn.Linear(6, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))
opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-3)
groups = -(-len(train_dl) // GROUP)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, 6e-3, total_steps=EPOCHS * groups)
mse = nn.MSELoss()

for epoch in range(1, EPOCHS + 1):
    net.train()
    seen, total = 0, 0.0
    last_group = len(train_dl) % GROUP or GROUP
    for i, (xb, yb) in enumerate(train_dl):
        in_tail = i >= len(train_dl) - last_group
        loss = mse(net(xb), yb)
        (loss / (last_group if in_tail else GROUP)).backward()
        total += loss.item() * len(yb)
        seen += len(yb)
        if (i + 1) % GROUP == 0 or i + 1 == len(train_dl):
            opt.step()
            opt.zero_grad()
            sched.step()
    net.eval()
    with torch.no_grad():
        vloss = mse(net(val_x), val_y).item()
    print(f"epoch {epoch:2d}  train mse {total / seen:.4f}  val mse {vloss:.4f}  R2 {1 - vloss / val_y.var().item():.4f}")
