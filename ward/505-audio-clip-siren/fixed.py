# Represent a short sound clip as a function of time with a sine network.
import math

import torch
from torch import nn

torch.manual_seed(11)
OMEGA = 30.0


class SineLayer(nn.Module):
    def __init__(self, n_in, n_out, first=False, scale=1.0):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)
        self.scale = scale
        bound = 1.0 / n_in if first else math.sqrt(6.0 / n_in)
        with torch.no_grad():
            self.linear.weight.uniform_(-bound, bound)

    def forward(self, x):
        return torch.sin(self.scale * self.linear(x))


class Siren(nn.Module):
    def __init__(self, hidden=64, depth=3):
        super().__init__()
        self.layers = nn.Sequential(
            SineLayer(1, hidden, first=True, scale=OMEGA),
            *[SineLayer(hidden, hidden) for _ in range(depth)],
        )
        self.readout = nn.Linear(hidden, 1)

    def forward(self, t):
        return self.readout(self.layers(t))


t = torch.linspace(-1, 1, 1200)[:, None]
clip = (0.6 * torch.sin(9 * t) + 0.5 * torch.sin(31 * t + 1.0) * torch.exp(-2 * t.abs()) + 0.4 * torch.sin(14 * t ** 2 + 23 * t))
clip = clip / clip.std()
held = torch.zeros(1200, dtype=torch.bool)
held[5::8] = True
t_fit, s_fit, t_held, s_held = t[~held], clip[~held], t[held], clip[held]

model = Siren()
opt = torch.optim.Adam(model.parameters(), lr=5e-4)
for it in range(301):
    pick = torch.randint(0, len(t_fit), (256,))
    loss = ((model(t_fit[pick]) - s_fit[pick]) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 30 == 0:
        with torch.no_grad():
            err = ((model(t_held) - s_held) ** 2).mean()
        print(f"it {it:4d}  fit mse {loss.item():.5f}  held-out mse {err.item():.5f}")
