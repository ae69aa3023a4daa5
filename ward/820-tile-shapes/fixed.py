"""Generalised-mean pooling (learned exponent) on a small CNN for tile shapes."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def tiles(n, seed):
    g = torch.Generator().manual_seed(seed)
    kind = torch.randint(0, 4, (n,), generator=g)
    yy, xx = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
    c = torch.rand(n, 2, 1, 1, generator=g) * 5 + 3
    dy, dx = yy - c[:, 0], xx - c[:, 1]
    shapes = torch.stack([
        (dy.abs() < 1) | (dx.abs() < 1),
        (dy.abs() < 3) & (dx.abs() < 3),
        (dy.abs() + dx.abs()) < 3.2,
        (dy - dx).abs() < 1.2,
    ], 1)
    image = shapes[torch.arange(n), kind].float() + 0.25 * torch.randn(n, 12, 12, generator=g)
    return (image - image.mean()).unsqueeze(1), kind


class GeM(nn.Module):
    def __init__(self, p=3.0):
        super().__init__()
        self.p = nn.Parameter(torch.tensor(p))

    def forward(self, x):
        return x.clamp(min=1e-6).pow(self.p).mean((2, 3))


class ShapeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.GELU(),
            nn.Conv2d(12, 24, 3, padding=1, stride=2), nn.BatchNorm2d(24), nn.GELU(),
        )
        self.pool = GeM()
        self.head = nn.Linear(24, 4)

    def forward(self, x):
        return self.head(self.pool(self.features(x)))


torch.manual_seed(1)
loader = DataLoader(TensorDataset(*tiles(1200, 1)), batch_size=40, shuffle=True)
xv, yv = tiles(300, 2)
net = ShapeNet()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(5):
    net.train()
    seen = []
    for x, y in loader:
        opt.zero_grad()
        loss = loss_fn(net(x), y)
        loss.backward()
        opt.step()
        seen.append(loss.item())
    net.eval()
    with torch.no_grad():
        acc = (net(xv).argmax(1) == yv).float().mean().item()
    print(f"epoch {epoch} first batch {seen[0]:.4f} last {seen[-1]:.4f} val acc {acc:.3f} p {net.pool.p.item():.3f}")
