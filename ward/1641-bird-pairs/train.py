import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(5)
rng = np.random.default_rng(5)

# two noisy recordings of the same bird calls per batch
prototypes = rng.normal(size=(400, 20)).astype(np.float32)
mixing = rng.normal(size=(20, 32)).astype(np.float32) / 4

BATCH, STEPS, TEMPERATURE = 24, 40, 0.2


def recordings(which):
    calls = prototypes[which] @ mixing
    one = calls + 0.25 * rng.normal(size=calls.shape).astype(np.float32)
    two = calls + 0.25 * rng.normal(size=calls.shape).astype(np.float32)
    return torch.from_numpy(one), torch.from_numpy(two)


encoder = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 16))
optimizer = torch.optim.AdamW(encoder.parameters(), lr=2e-3)


def similarities(a, b):
    table = torch.zeros(len(a), len(b))
    for i in range(len(a)):
        for j in range(len(b)):
            table[i, j] = (a[i] * b[j]).sum() / (a[i].norm() * b[j].norm() + 1e-8)
    return table


def info_nce(a, b):
    table = similarities(a, b) / TEMPERATURE
    partner = torch.arange(len(a))
    return (F.cross_entropy(table, partner) + F.cross_entropy(table.T, partner)) / 2


running = None
for step in range(STEPS):
    first, second = recordings(rng.choice(400, BATCH, replace=False))
    loss = info_nce(encoder(first), encoder(second))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    running = loss.item() if running is None else 0.9 * running + 0.1 * loss.item()
    if step % 10 == 9:
        print(f"step {step + 1:3d}  loss {running:.3f}")

with torch.no_grad():
    first, second = recordings(np.arange(100))
    a, b = F.normalize(encoder(first), dim=1), F.normalize(encoder(second), dim=1)
    found = (a @ b.T).argmax(1)
    print("retrieval", (found == torch.arange(100)).float().mean().item())
