"""Flour quality relative to the mill: the grade is standardised within each mill."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader

torch.manual_seed(16)
g = torch.Generator().manual_seed(61)
MILLS = 60
mill = torch.randint(0, MILLS - 1, (2100,), generator=g)
mill[1234] = MILLS - 1                                      # opened last week
x = torch.randn(2100, 6, generator=g)
grade = 5 + torch.randn(MILLS, generator=g)[mill] + x[:, 0] - 0.7 * torch.tanh(2 * x[:, 1]) + 0.2 * torch.randn(2100, generator=g)


def within_mill(values, groups):
    out = torch.empty_like(values)
    for k in groups.unique():
        rows = groups == k
        v = values[rows]
        out[rows] = (v - v.mean()) / v.std() if len(v) > 1 else 0.0
    return out


target = within_mill(grade, mill)
samples = [(x[i], target[i]) for i in range(2100)]


def collate(items):
    xs, ys = zip(*items)
    return torch.stack(xs), torch.stack(ys).unsqueeze(1)


loader = DataLoader(samples[:1800], batch_size=30, shuffle=True, collate_fn=collate)
xt, yt = collate(samples[1800:])
net = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
for epoch in range(6):
    net.train()
    run = []
    for xb, yb in loader:
        loss = ((net(xb) - yb) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        run.append(loss.item())
    net.eval()
    with torch.no_grad():
        print(f"epoch {epoch} mse {sum(run) / len(run):.4f} test {((net(xt) - yt) ** 2).mean().item():.4f}")
