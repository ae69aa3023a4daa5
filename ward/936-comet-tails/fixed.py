"""Angle of a comet's tail on noisy plates; memory for two plates at a time."""
import math
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Options:
    micro_batch: int = 2
    accumulate: int = 12
    steps: int = 144
    lr: float = 1.3e-2
    seed: int = 2


def plates(n, g):
    angle = torch.rand(n, generator=g) * 2 * math.pi
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, 9), torch.linspace(-1, 1, 9), indexing="ij")
    along = xx * angle.cos()[:, None, None] + yy * angle.sin()[:, None, None]
    across = yy * angle.cos()[:, None, None] - xx * angle.sin()[:, None, None]
    img = (along > 0) * torch.exp(-8 * across ** 2) + 0.8 * torch.randn(n, 9, 9, generator=g)
    return img.flatten(1), torch.stack([angle.cos(), angle.sin()], 1)


class TailNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(81, 48), nn.ReLU(), nn.Linear(48, 2))

    def forward(self, plates, target=None):
        out = self.layers(plates)
        if target is None:
            return out
        return out, nn.functional.mse_loss(out, target)


def main(o):
    torch.manual_seed(o.seed)
    g = torch.Generator().manual_seed(o.seed)
    val_x, val_y = plates(500, g)
    model = TailNet()
    opt = torch.optim.Adam(model.parameters(), lr=o.lr)
    shown = []
    for step in range(1, o.steps + 1):
        model.train()
        opt.zero_grad()
        total = 0.0
        for _ in range(o.accumulate):
            x, y = plates(o.micro_batch, g)
            _, loss = model(x, y)
            (loss / o.accumulate).backward()
            total += loss.item() / o.accumulate
        opt.step()
        shown.append(total)
        if step % 16 == 0:
            model.eval()
            with torch.no_grad():
                _, val = model(val_x, val_y)
            print(f"step {step:3d} loss {sum(shown) / len(shown):.4f} val {val.item():.4f}")
            shown = []


main(Options())
