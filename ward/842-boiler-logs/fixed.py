"""Efficiency of a boiler from eight logged channels."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)


def logbook(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 8, generator=g)
    y = x[:, 0] - 0.6 * x[:, 1] + torch.tanh(2 * x[:, 2]) + 0.4 * x[:, 3] * x[:, 4] + 0.1 * torch.randn(n, generator=g)
    return x, y.unsqueeze(1)


x, y = logbook(1200, 1)
x[[133, 690, 1011]] *= 1000
good = x.abs().amax(1) < 20
data = TensorDataset(x[good], y[good])
loader = DataLoader(data, batch_size=24, shuffle=True)
xt, yt = logbook(400, 2)
net = nn.Sequential(nn.Linear(8, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(8):
    net.train()
    losses = []
    for xb, yb in loader:
        loss = nn.functional.smooth_l1_loss(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 2.0)
        opt.step()
        losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        test = nn.functional.smooth_l1_loss(net(xt), yt).item()
    median = sorted(losses)[len(losses) // 2]
    print(f"epoch {epoch} loss mean {sum(losses) / len(losses):.4f} median {median:.4f} max {max(losses):.4f} test {test:.4f}")
