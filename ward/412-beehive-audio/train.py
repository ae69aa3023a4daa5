import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(77)


def hum(batch, frames=16, bands=6):
    """Energy per band and frame; a swarming hive drifts upwards in pitch."""
    swarming = torch.randint(0, 2, (batch,)).float()
    t = torch.linspace(0, 1, frames)
    centre = 2.0 + torch.rand(batch, 1) + (swarming[:, None] * 1.8 - 0.3) * t
    band = torch.arange(bands)
    energy = torch.exp(-0.5 * (band[None, None] - centre[..., None]) ** 2)
    return (energy - 0.3) * 2.5 + 1.6 * torch.randn(batch, frames, bands), swarming


class HiveGRU(nn.Module):
    def __init__(self, bands=6, hidden=24):
        super().__init__()
        self.gru = nn.GRU(bands, hidden, batch_first=True)
        self.score = nn.Linear(hidden, 1)

    def forward(self, x):
        _, h = self.gru(x)
        return self.score(h[-1]).squeeze(1)


def limit_gradient(parameters, limit):
    grads = [p.grad for p in parameters if p.grad is not None]
    norm = math.sqrt(sum(g.pow(2).sum().item() for g in grads))
    if norm > limit:
        for g in grads:
            g.mul_(limit / norm)
    return norm


net = HiveGRU()
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
val_x, val_y = hum(400)
for it in range(1, 201):
    net.train()
    x, y = hum(40)
    loss = F.binary_cross_entropy_with_logits(net(x), y)
    net.zero_grad()
    loss.backward()
    norm = limit_gradient(net.parameters(), limit=5e-4)
    opt.step()
    if it % 20 == 0:
        net.eval()
        with torch.no_grad():
            out = net(val_x)
            val = F.binary_cross_entropy_with_logits(out, val_y).item()
            acc = ((out > 0) == (val_y > 0.5)).float().mean().item()
        print(f"it {it:3d} loss {loss.item():.4f} grad {norm:.3f} val {val:.4f} acc {acc:.3f}")
