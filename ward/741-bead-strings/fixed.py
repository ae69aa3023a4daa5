"""The colour that belongs to each bead of the mirrored string."""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Settings:
    colours: int = 18
    length: int = 12
    width: int = 48
    depth: int = 8
    lr: float = 8e-3
    warmup: int = 60
    steps: int = 200


class Strings(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.bead = nn.Embedding(s.colours, s.width)
        self.position = nn.Embedding(s.length, s.width)
        layer = nn.TransformerEncoderLayer(s.width, 4, 2 * s.width, dropout=0.0, activation="gelu", batch_first=True)
        self.stack = nn.TransformerEncoder(layer, s.depth, enable_nested_tensor=False)
        self.read = nn.Linear(s.width, s.colours)

    def forward(self, x):
        return self.read(self.stack(self.bead(x) + self.position.weight))


def fit(s):
    torch.manual_seed(6)
    model = Strings(s)
    opt = torch.optim.Adam(model.parameters(), lr=s.lr)
    schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda i: min(1.0, (i + 1) / s.warmup) * (1 - i / (2 * s.steps)))
    for step in range(s.steps):
        x = torch.randint(0, s.colours, (16, s.length))
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), ((5 * x.flip(1) + 1) % s.colours).flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        schedule.step()
        if step % 40 == 39:
            print(f"{step + 1}: {loss.item():.4f}")


fit(Settings())
