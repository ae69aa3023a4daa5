"""Direction of a joint from six muscle sensors; the error is the angle in radians."""
from dataclasses import dataclass
import torch
import torch.nn as nn


@dataclass
class Config:
    hidden: int = 48
    lr: float = 3e-3
    batch: int = 64
    steps: int = 500
    seed: int = 8


class Recorder:
    def __init__(self, seed):
        self.g = torch.Generator().manual_seed(seed)
        self.mix = torch.randn(3, 6, generator=self.g)

    def draw(self, n):
        direction = torch.randn(n, 3, generator=self.g)
        direction = direction / direction.norm(dim=1, keepdim=True)
        return torch.tanh(direction @ self.mix), direction


class AngleNet(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 3))

    def forward(self, x):
        return nn.functional.normalize(self.net(x), dim=1)


def angle(a, b):
    cos = (a * b).sum(1)
    return torch.acos(cos)


def train(cfg):
    torch.manual_seed(cfg.seed)
    rec = Recorder(cfg.seed)
    net = AngleNet(cfg.hidden)
    opt = torch.optim.Adam(net.parameters(), lr=cfg.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, cfg.steps, eta_min=cfg.lr / 20)
    x_test, d_test = rec.draw(400)
    for step in range(cfg.steps):
        x, d = rec.draw(cfg.batch)
        loss = angle(net(x), d).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if step % 50 == 0 or step == cfg.steps - 1:
            with torch.no_grad():
                err = torch.rad2deg((net(x_test) * d_test).sum(1).clamp(-1, 1).acos()).median().item()
            print(f"{step:4d}: loss {loss.item():.4f} rad, median test error {err:.2f} deg")


train(Config())
