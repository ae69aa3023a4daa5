"""Denoise detector pulses with a small convolutional autoencoder; pulses are simulated on the fly."""
import functools
import math

import torch
from torch import nn

LENGTH = 64


@functools.lru_cache(maxsize=None)
def time_axis(n):
    return torch.arange(n, dtype=torch.float32)


@functools.lru_cache(maxsize=None)
def simulate(count, noise=0.5):
    """clean double-exponential pulses and their noisy recordings"""
    t = time_axis(LENGTH)
    start = torch.rand(count, 1) * 30 + 5
    rise = torch.rand(count, 1) * 2 + 1
    fall = torch.rand(count, 1) * 10 + 5
    height = torch.rand(count, 1) * 2 + 1
    dt = (t - start).clamp(min=0)
    clean = height * (torch.exp(-dt / fall) - torch.exp(-dt / rise)) * (t >= start)
    hum = 0.3 * torch.sin(2 * math.pi * (t / 16 + torch.rand(count, 1)))
    return (clean + hum + noise * torch.randn(count, LENGTH)).unsqueeze(1), clean.unsqueeze(1)


class Denoiser(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.down = nn.Sequential(nn.Conv1d(1, width, 7, stride=2, padding=3), nn.GELU(),
                                  nn.Conv1d(width, width, 7, stride=2, padding=3), nn.GELU())
        self.up = nn.Sequential(nn.ConvTranspose1d(width, width, 4, stride=2, padding=1), nn.GELU(),
                                nn.ConvTranspose1d(width, 1, 4, stride=2, padding=1))

    def forward(self, x):
        return self.up(self.down(x))


torch.manual_seed(77)
test_noisy, test_clean = simulate(500)
model = Denoiser()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
window = []
for step in range(1, 401):
    noisy, clean = simulate(32)
    loss = nn.functional.mse_loss(model(noisy), clean)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    window.append(loss.item())
    if step % 50 == 0:
        model.eval()
        with torch.no_grad():
            test = nn.functional.mse_loss(model(test_noisy), test_clean).item()
        model.train()
        print(f"step {step:4d}  train mse {sum(window) / len(window):.4f}  test mse {test:.4f}")
        window.clear()
