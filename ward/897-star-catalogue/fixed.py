"""A catalogue of stars, thinned with a learned similarity."""
import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(97)
torch.manual_seed(97)
STARS = 700_000
positions = rng.standard_normal((STARS, 3)).astype(np.float32)
brightness = np.abs(rng.standard_normal(STARS)).astype(np.float32)

encoder = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 4))
optimizer = torch.optim.Adam(encoder.parameters(), lr=2e-3)
for step in range(120):
    chosen = rng.integers(0, STARS, 80)
    near = np.exp(-np.abs(brightness[chosen, None] - brightness[None, chosen]))
    codes = nn.functional.normalize(encoder(torch.from_numpy(positions[chosen])), dim=1)
    loss = (codes @ codes.T - torch.from_numpy(near)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"{step}: {loss.item():.4f}")
