"""Represent a grey picture by a network: (x, y) -> brightness, with random Fourier features."""
import math

import torch
from torch import nn

torch.manual_seed(14)
SIZE = 72
EPOCHS = 50


def render(size):
    """Test picture: rings, a tilted bar pattern and a soft blob."""
    v = torch.linspace(-1, 1, size)
    y, x = torch.meshgrid(v, v, indexing="ij")
    r = torch.sqrt(x ** 2 + y ** 2)
    rings = 0.5 + 0.5 * torch.cos(14 * r)
    bars = torch.sigmoid(12 * torch.sin(5 * x + 8 * y))
    blob = torch.exp(-((x - 0.4) ** 2 + (y + 0.3) ** 2) / 0.08)
    img = torch.where(x + 0.3 * y > 0, rings, 0.7 * bars) + 0.5 * blob
    return torch.stack([x, y], -1).reshape(-1, 2), (img / img.max()).reshape(-1, 1)


class FourierFeatures(nn.Module):
    def __init__(self, n=48, scale=2.0):
        super().__init__()
        self.register_buffer("B", scale * torch.randn(2, n))

    def forward(self, xy):
        z = 2 * math.pi * xy @ self.B
        return torch.cat([torch.sin(z), torch.cos(z)], -1)


def make_net(width=64):
    return nn.Sequential(FourierFeatures(), nn.Linear(96, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                         nn.Linear(width, 1))


def psnr(mse):
    return -10 * math.log10(mse)


xy, grey = render(SIZE)
order = torch.randperm(len(xy))
held_out, pixels = order[:600], order[600:]

net = make_net()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-4)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[35, 45], gamma=0.1)
mse = nn.MSELoss()

for epoch in range(EPOCHS):
    net.train()
    total = 0.0
    for chunk in pixels[torch.randperm(len(pixels))].split(64):
        loss = mse(net(xy[chunk]), grey[chunk])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(chunk)
    scheduler.step()
    if epoch % 5 == 4:
        net.eval()
        with torch.no_grad():
            test = mse(net(xy[held_out]), grey[held_out]).item()
        train = total / len(pixels)
        print(f"epoch {epoch + 1:3d}  train mse {train:.5f} ({psnr(train):.1f} dB)  held-out {test:.5f} ({psnr(test):.1f} dB)")
