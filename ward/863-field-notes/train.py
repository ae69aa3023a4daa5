"""Bird weights from notebooks in which missing cells are NaN; incomplete rows are left out before training."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(5)
torch.manual_seed(5)
x = rng.normal(size=(2600, 6)).astype(np.float32)
y = (x[:, 0] + 0.6 * np.sin(2 * x[:, 1]) - 0.5 * x[:, 2] * x[:, 3] + 0.1 * rng.normal(size=2600)).astype(np.float32)
x[rng.random(x.shape) < 0.03] = np.nan
print(f"{np.isnan(x).any(1).mean():.1%} of the rows have a gap, column means {np.nanmean(x, 0).round(2)}")
complete = ~np.isnan(x).any(1)
x, y = torch.from_numpy(x[complete]), torch.from_numpy(y[complete]).unsqueeze(1)
cut = int(0.85 * len(x))
loader = DataLoader(TensorDataset(x[:cut], y[:cut]), batch_size=32, shuffle=True)
net = nn.Sequential(nn.Linear(6, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 8)
for epoch in range(8):
    net.train()
    tot = 0.0
    for xb, yb in loader:
        loss = nn.functional.mse_loss(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() / len(loader)
    sched.step()
    net.eval()
    with torch.no_grad():
        print(f"epoch {epoch} train {tot:.4f} test {nn.functional.mse_loss(net(x[cut:]), y[cut:]).item():.4f}")
