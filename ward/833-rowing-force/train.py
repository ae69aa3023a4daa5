"""Force angle of an oar from strain gauges; a torch.isfinite filter keeps the log clean."""
import math
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def strokes(n, seed):
    g = torch.Generator().manual_seed(seed)
    angle = torch.rand(n, generator=g) * math.pi
    load = 0.5 + torch.rand(n, generator=g)
    s = torch.stack([load * angle.cos(), load * angle.sin(), load, load ** 2], 1)
    w = torch.randn(4, 8, generator=torch.Generator().manual_seed(1))
    return torch.tanh(0.7 * s @ w) + 0.02 * torch.randn(n, 8, generator=g), angle


class OarNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU())
        self.cosine = nn.Linear(48, 1)

    def forward(self, x):
        return torch.acos(1.5 * self.cosine(self.body(x))).squeeze(1)


class Fit:
    def __init__(self):
        torch.manual_seed(4)
        self.net = OarNet()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=3e-3)
        self.loader = DataLoader(TensorDataset(*strokes(1600, 2)), batch_size=32, shuffle=True)
        self.test = strokes(400, 3)

    def loss(self, out, angle):
        err = (out - angle) ** 2
        return torch.where(torch.isfinite(err), err, torch.zeros_like(err)).mean()

    def epoch(self):
        total = 0.0
        for x, angle in self.loader:
            loss = self.loss(self.net(x), angle)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            total += loss.item() / len(self.loader)
        return total


fit = Fit()
for e in range(6):
    train = fit.epoch()
    with torch.no_grad():
        err = (fit.net(fit.test[0]) - fit.test[1]).abs()
        print(f"epoch {e} loss {train:.5f} within 5 degrees {(err < math.radians(5)).float().mean().item():.3f}")
