"""Height field from scattered survey points: a coordinate network (x, y) -> z."""
import math

import torch
from torch import nn


def height(xy):
    x, y = xy[:, 0], xy[:, 1]
    ridge = torch.exp(-8 * (x - 0.3 * torch.sin(3 * y)) ** 2)
    return 1.5 * ridge + 0.5 * torch.cos(2.5 * x + 1.0) - 0.8 * torch.exp(-6 * ((x + 0.6) ** 2 + (y - 0.4) ** 2)) - 0.6


class HeightField(nn.Module):
    def __init__(self, width=64, depth=4):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, width)] + [nn.Linear(width, width) for _ in range(depth - 1)])
        self.z = nn.Linear(width, 1)

    def forward(self, h):
        for layer in self.layers:
            h = layer(h)
            torch.relu(h)
        return self.z(h).squeeze(-1)


def survey_points(n, seed):
    g = torch.Generator().manual_seed(seed)
    xy = 2 * torch.rand(n, 2, generator=g) - 1
    return xy, height(xy) + 0.03 * torch.randn(n, generator=g)


torch.manual_seed(70)
points, z = survey_points(4000, 0)
check_points, check_z = survey_points(800, 1)
field = HeightField()
opt = torch.optim.Adam(field.parameters(), lr=2e-3)
epochs, batch = 10, 100
print("variance of the heights: %.4f" % check_z.var().item())
for epoch in range(epochs):
    err = 0.0
    perm = torch.randperm(len(z))
    for k in range(math.ceil(len(z) / batch)):
        sel = perm[k * batch:(k + 1) * batch]
        opt.zero_grad()
        loss = (field(points[sel]) - z[sel]).square().mean()
        loss.backward()
        opt.step()
        err += loss.item() * len(sel)
    with torch.no_grad():
        check = (field(check_points) - check_z).square().mean().item()
    print(f"[{epoch + 1:2d}/{epochs}] mse {err / len(z):.5f}  check points {check:.5f}")
