import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(21)
x = torch.randn(2400, 8)
y = torch.sin(1.5 * x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + x[:, 3] + 0.1 * torch.randn(2400)
y = (y - y.mean()) / y.std()
train_set, test_set = TensorDataset(x[:2000], y[:2000]), TensorDataset(x[2000:], y[2000:])


class SoftTailLoss(nn.Module):
    """quadratic near zero, square root in the tail"""

    def __init__(self, knee=1.0):
        super().__init__()
        self.knee = knee

    def forward(self, pred, target):
        r = (pred - target).abs()
        small = 0.5 * r ** 2
        tail = 0.5 * self.knee ** 2 + self.knee * torch.sqrt(2 * (r - self.knee))
        return torch.where(r <= self.knee, small, tail).mean()


net = nn.Sequential(nn.Linear(8, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))
criterion = SoftTailLoss()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
loader = DataLoader(train_set, batch_size=64, shuffle=True)

for epoch in range(8):
    net.train()
    losses = []
    for xb, yb in loader:
        loss = criterion(net(xb).squeeze(-1), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        rmse = (net(test_set.tensors[0]).squeeze(-1) - test_set.tensors[1]).pow(2).mean().sqrt().item()
    print(f"epoch {epoch}: first {losses[0]:.4f} mean {np.mean(losses):.4f} test rmse {rmse:.4f}")
