import time

import torch
from torch import nn

torch.manual_seed(8)
STEPS = 4000
BATCH_SIZE = 1
yy, xx = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")


def exposures(n):
    """Simulated detector images: a spot of unknown brightness somewhere on a noisy 16x16 sensor, and the counted photons."""
    c = 3 + 10 * torch.rand(n, 2)
    w = 1.0 + 1.5 * torch.rand(n)
    level = 0.5 + 3.5 * torch.rand(n)
    d2 = (yy - c[:, 0, None, None]) ** 2 + (xx - c[:, 1, None, None]) ** 2
    img = level[:, None, None] * torch.exp(-d2 / (2 * w[:, None, None] ** 2)) + 0.3 * torch.randn(n, 16, 16)
    return img.unsqueeze(1) - 0.2, torch.poisson(level), level


x_test, n_test, true_rate = exposures(2000)
model = nn.Sequential(
    nn.Conv2d(1, 12, 5, padding=2), nn.GELU(), nn.MaxPool2d(2),
    nn.Conv2d(12, 24, 3, padding=1), nn.GELU(), nn.AdaptiveMaxPool2d(2), nn.Flatten(),
    nn.Linear(96, 32), nn.GELU(), nn.Linear(32, 1), nn.Flatten(0))
poisson = nn.PoissonNLLLoss(log_input=True, full=True)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

start, total = time.time(), 0.0
for step in range(1, STEPS + 1):
    img, n, _ = exposures(BATCH_SIZE)
    nll = poisson(model(img), n)
    optimizer.zero_grad()
    nll.backward()
    optimizer.step()
    total += nll.item()
    if step % 250 == 0:
        with torch.no_grad():
            out = model(x_test)
            test = poisson(out, n_test).item()
            rel = (out.exp() / true_rate - 1).abs().mean().item()
        print(f"step {step} nll {total / 250:.4f} test nll {test:.4f} rate error {100 * rel:.1f}% ({time.time() - start:.1f}s)")
        total = 0.0
