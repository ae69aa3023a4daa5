"""Learn where the gripper of a three-joint arm ends up, from the joint angles."""
import math
from dataclasses import dataclass, field
from typing import List

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


@dataclass
class Settings:
    links: List[float] = field(default_factory=lambda: [1.0, 0.8, 0.5])
    hidden: List[int] = field(default_factory=lambda: [96, 96])
    samples: int = 8000
    batch_size: int = 64
    epochs: int = 30
    lr: float = 2e-3
    seed: int = 2


def forward_kinematics(angles, links):
    heading = torch.cumsum(angles, dim=1)
    lengths = torch.tensor(links)
    x = (lengths * torch.cos(heading)).sum(1)
    y = (lengths * torch.sin(heading)).sum(1)
    return torch.stack([x, y], dim=1)


def build_mlp(sizes):
    layers = []
    for n_in, n_out in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(n_in, n_out), nn.Tanh()]
    return nn.Sequential(*layers)


def load(s):
    g = torch.Generator().manual_seed(s.seed)
    angles = (torch.rand(s.samples, len(s.links), generator=g) - 0.5) * math.pi
    target = forward_kinematics(angles, s.links)
    data = TensorDataset(angles, target)
    n_val = s.samples // 5
    train, val = random_split(data, [s.samples - n_val, n_val], generator=g)
    return DataLoader(train, s.batch_size, shuffle=True), DataLoader(val, 400)


def mean_distance(model, loader):
    model.eval()
    dist, sq, n = 0.0, 0.0, 0
    with torch.no_grad():
        for angles, target in loader:
            diff = model(angles) - target
            dist += diff.norm(dim=1).sum().item()
            sq += diff.pow(2).mean(1).sum().item()
            n += len(angles)
    return dist / n, sq / n


def train(s):
    torch.manual_seed(s.seed)
    train_loader, val_loader = load(s)
    model = build_mlp([len(s.links), *s.hidden, 2])
    optimizer = torch.optim.Adam(model.parameters(), lr=s.lr)
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, s.epochs)
    mse = nn.MSELoss()
    for epoch in range(1, s.epochs + 1):
        model.train()
        total = 0.0
        for angles, target in train_loader:
            optimizer.zero_grad()
            loss = mse(model(angles), target)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(angles)
        decay.step()
        dist, val = mean_distance(model, val_loader)
        if epoch % 3 == 0:
            print(f"epoch {epoch:3d} | train mse {total / len(train_loader.dataset):.5f} | val mse {val:.5f} | "
                  f"mean miss {dist:.4f} m")


if __name__ == "__main__":
    train(Settings())
