import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader

rng = np.random.default_rng(3)
torch.manual_seed(3)


class Episodes(Dataset):
    """predict log downloads after 30 days from the first week's numbers"""

    def __init__(self, n):
        fame = rng.normal(4.5, 1.0, n)
        day1 = rng.poisson(np.exp(fame))
        shares = rng.poisson(np.exp(fame - 1.6))
        minutes = rng.uniform(10, 90, n)
        weekday = rng.integers(0, 7, n)
        target = 0.7 * np.log(day1 + 1) + 0.3 * np.log(shares + 1) - 0.004 * (minutes - 40) + 0.3 * (weekday < 2)
        target = target + 0.12 * rng.normal(size=n)
        cols = [np.log1p(day1), np.log1p(shares), minutes, weekday == 0, weekday == 1]
        x = np.stack(cols, 1).astype(np.float32)
        med = np.median(x, 0)
        iqr = np.percentile(x, 75, axis=0) - np.percentile(x, 25, axis=0)
        self.x = (x - med) / np.where(iqr > 0, iqr, 1)
        self.y = ((target - 4.5) / 1.0).astype(np.float32)[:, None]

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i].astype(np.float32), self.y[i]


train_dl = DataLoader(Episodes(1200), batch_size=24, shuffle=True)
val_dl = DataLoader(Episodes(400), batch_size=400)

mlp = nn.Sequential(nn.Linear(5, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(mlp.parameters(), lr=1.5e-3)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.75)
huber = nn.HuberLoss()

for epoch in range(12):
    mlp.train()
    for i, (x, y) in enumerate(train_dl):
        loss = huber(mlp(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if i % 25 == 0:
            print(f"epoch {epoch} batch {i:2d} loss {loss.item():.4f}")
    sched.step()
    mlp.eval()
    with torch.no_grad():
        v = sum(huber(mlp(x), y).item() for x, y in val_dl) / len(val_dl)
    print(f"epoch {epoch} val {v:.4f}")
