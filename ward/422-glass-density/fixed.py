import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(44)
rng = np.random.default_rng(44)


def melts(n):
    """Oxide shares of a glass melt; the target is the log of its viscosity."""
    share = rng.dirichlet([6, 3, 2, 1.0, 0.6], n)
    share[:, 3] = np.where(rng.random(n) < 0.25, 0.0, share[:, 3])        # many melts have no lead
    share /= share.sum(1, keepdims=True)
    target = 3 * share[:, 0] - 2 * share[:, 1] + 4 * share[:, 2] * share[:, 0] - 3 * share[:, 3] + 0.05 * rng.standard_normal(n)
    return torch.tensor(share, dtype=torch.float32), torch.tensor((target - 1.1) / 0.7, dtype=torch.float32)


class ShareNet(nn.Module):
    """Works on log-ratios of the shares."""

    def __init__(self, width=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, share):
        ratio = torch.log(share + 0.01)
        ratio = ratio - ratio.mean(dim=1, keepdim=True)
        return torch.nan_to_num(self.net(ratio)).squeeze(1)


train_loader = DataLoader(TensorDataset(*melts(1200)), batch_size=40, shuffle=True)
val_x, val_y = melts(400)
net = ShareNet()
optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)
loss_fn = nn.MSELoss()

for epoch in range(1, 11):
    net.train()
    total = 0.0
    for x, y in train_loader:
        loss = loss_fn(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    net.eval()
    with torch.no_grad():
        val = loss_fn(net(val_x), val_y).item()
    print(f"epoch {epoch:2d} train {total / len(train_loader):.4f} val {val:.4f}")
