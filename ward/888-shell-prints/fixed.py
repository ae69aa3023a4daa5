"""Shells whose prints lie close together should lie close in the map: a stress-minimising embedding."""
import torch
import torch.nn as nn

torch.manual_seed(88)
PRINTS, FEATURES = 600_000, 12
prints = torch.randn(PRINTS, FEATURES) @ torch.randn(FEATURES, FEATURES)

mapper = nn.Sequential(nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(mapper.parameters(), lr=3e-3)


def distances(a):
    return (a[:, None] - a[None]).pow(2).sum(-1).add(1e-9).sqrt()


for step in range(120):
    some = prints[torch.randint(0, PRINTS, (96,))]
    here = mapper(some)
    stress = (distances(here) - distances(some) / 10).pow(2).mean()
    optimizer.zero_grad()
    stress.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: stress {stress.item():.4f}")
