"""Coordinates of a toy chain molecule from its residue codes, trained on inter-residue distances."""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class FoldConfig:
    length: int = 10
    kinds: int = 6
    width: int = 64
    batch: int = 48
    steps: int = 300
    lr: float = 4e-3


def fold(codes):
    """Each residue turns the chain by a fixed angle pair."""
    turn = torch.tensor([0.1, 0.5, -0.4, 0.9, -0.8, 0.3])[codes].cumsum(1)
    lift = torch.tensor([0.2, -0.3, 0.1, 0.4, -0.2, 0.0])[codes]
    step = torch.stack([turn.cos() * lift.cos(), turn.sin() * lift.cos(), lift.sin()], -1)
    return step.cumsum(1)


def pairwise_distances(xyz):
    diff = xyz.unsqueeze(2) - xyz.unsqueeze(1)
    d2 = diff.pow(2).sum(-1)
    return torch.sqrt(d2)


class Folder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embed = nn.Embedding(cfg.kinds, cfg.width)
        self.lstm = nn.GRU(cfg.width, cfg.width, batch_first=True)
        self.step = nn.Sequential(nn.Linear(cfg.width, cfg.width), nn.ReLU(), nn.Linear(cfg.width, 3))

    def forward(self, codes):
        h, _ = self.lstm(self.embed(codes))
        return self.step(h).cumsum(1)


def batch_of(cfg, n=None):
    codes = torch.randint(0, cfg.kinds, (n or cfg.batch, cfg.length))
    return codes, pairwise_distances(fold(codes))


def run(cfg):
    torch.manual_seed(6)
    model = Folder(cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    test_codes, test_d = batch_of(cfg, 200)
    for step in range(cfg.steps):
        codes, target = batch_of(cfg)
        loss = nn.functional.smooth_l1_loss(pairwise_distances(model(codes)), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 30 == 0:
            with torch.no_grad():
                err = (pairwise_distances(model(test_codes)) - test_d).abs().mean().item()
            print(f"step {step:4d} loss {loss.item():.4f} test distance error {err:.4f}")


if __name__ == "__main__":
    run(FoldConfig())
