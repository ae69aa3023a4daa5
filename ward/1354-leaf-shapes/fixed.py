"""Classify leaf outlines (radius as a function of angle) of eight species."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

SPECIES = 8


def leaves(n, seed):
    g = torch.Generator().manual_seed(seed)
    ang = torch.arange(48) * 2 * math.pi / 48
    y = torch.randint(0, SPECIES, (n,), generator=g)
    lobes = torch.tensor([2., 3., 4., 5., 3., 5., 6., 7.])[y]
    depth = torch.tensor([.25, .3, .3, .3, .6, .6, .3, .3])[y] * (0.8 + 0.4 * torch.rand(n, generator=g))
    turn = 6.3 * torch.rand(n, generator=g)
    r = 1 + depth[:, None] * torch.cos(lobes[:, None] * ang + turn[:, None]) + 0.12 * torch.randn(n, 48, generator=g)
    return (r - 1) / 0.3, y


class LeafNet(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.fc1 = nn.Linear(48, width)
        self.fc2 = nn.Linear(width, width)
        self.fc3 = nn.Linear(width, SPECIES)

    def forward(self, r):
        h = F.elu(self.fc1(r))
        h = F.elu(self.fc2(h))
        return self.fc3(h)


def batches(x, y, size):
    order = torch.randperm(len(y))
    for k in range(0, len(y), size):
        yield x[order[k:k + size]], y[order[k:k + size]]


torch.manual_seed(70)
x, y = leaves(6000, 1)
xv, yv = leaves(1000, 2)
model = LeafNet()
opt = torch.optim.Adamax(model.parameters(), lr=4e-3)
sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.02, total_iters=24)
for epoch in range(24):
    model.train()
    mean = 0.0
    for xb, yb in batches(x, y, 60):
        loss = F.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        mean += loss.item() / 100
    sched.step()
    if epoch % 3 == 2:
        model.eval()
        with torch.no_grad():
            tr, va = model(x), model(xv)
        print(f"{epoch + 1:3d}: loss {mean:.3f}, train acc {(tr.argmax(1) == y).float().mean():.3f}, "
              f"val loss {F.cross_entropy(va, yv):.3f}, val acc {(va.argmax(1) == yv).float().mean():.3f}")
