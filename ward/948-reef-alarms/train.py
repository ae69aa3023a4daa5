"""Bleaching alarms for reef sections; one in twenty is bleached."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(51)


def sections(n):
    y = (torch.rand(n) < 0.05).float()
    x = torch.randn(n, 10)
    x[:, 0] += 1.6 * y
    x[:, 1] -= 1.4 * y
    x[:, 2] += 1.0 * y
    return x, y


x, y = sections(5000)
x_val, y_val = sections(2500)
loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
net = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 1))
criterion = nn.BCEWithLogitsLoss(pos_weight=(y == 0).sum() / (y == 1).sum())
opt = torch.optim.Adam(net.parameters(), lr=2e-3, weight_decay=1e-4)
for epoch in range(6):
    net.train()
    total = 0.0
    for xb, yb in loader:
        loss = criterion(net(xb).squeeze(1), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    net.eval()
    with torch.no_grad():
        out = net(x_val).squeeze(1)
        val = criterion(out, y_val).item()
    bleached, sound = (out[y_val == 1] > 0).float().mean().item(), (out[y_val == 0] <= 0).float().mean().item()
    print(f"epoch {epoch} loss {total / len(loader):.4f} val {val:.4f} recall bleached {bleached:.3f} sound {sound:.3f}")
