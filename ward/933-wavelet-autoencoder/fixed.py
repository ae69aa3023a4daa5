"""Autoencoder for short wavelets (24 samples, 4 numbers in the middle)."""
import argparse

import torch
from torch import nn
from torch.nn import functional as F

ap = argparse.ArgumentParser(description=__doc__)
ap.add_argument("--max-steps", type=int, default=600)
ap.add_argument("--batch", type=int, default=50)
ap.add_argument("--lr", type=float, default=1.5e-3)
ap.add_argument("--code", type=int, default=4)
opts = ap.parse_args()


def wavelets(n, g):
    t = torch.linspace(-1, 1, 24)
    centre = torch.rand(n, 1, generator=g) - 0.5
    width = 0.25 + 0.2 * torch.rand(n, 1, generator=g)
    height = 1 + 1.5 * torch.rand(n, 1, generator=g)
    u = (t - centre) / width
    return height * (1 - u ** 2) * torch.exp(-u ** 2 / 2) + 0.03 * torch.randn(n, 24, generator=g)


class AutoEncoder(nn.Module):
    def __init__(self, code):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(24, 64), nn.GELU(), nn.Linear(64, code))
        self.decoder = nn.Sequential(nn.Linear(code, 64), nn.GELU(), nn.Linear(64, 24))

    def forward(self, x):
        return self.decoder(self.encoder(x))

    def loss(self, x):
        return F.mse_loss(self(x), x)


def endless(data, size, g):
    while True:
        yield from data[torch.randperm(len(data), generator=g)].split(size)


torch.manual_seed(5)
g = torch.Generator().manual_seed(5)
data, held_out = wavelets(2000, g), wavelets(400, g)
model = AutoEncoder(opts.code)
optimiser = torch.optim.Adam(model.parameters(), lr=opts.lr)
feed = endless(data, opts.batch, g)
for step in range(1, opts.max_steps + 1):
    model.train()
    loss = model.loss(next(feed))
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    if step % 10 == 0:
        model.eval()
        with torch.no_grad():
            val = model.loss(held_out).item()
        print(f"step {step:4d} loss {loss.item():.4f} held out {val:.4f}")
