"""Surrogate model for lift of an airfoil section."""
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Settings:
    epochs: int = 100
    batch_size: int = 64
    lr: float = 1e-2
    hidden: int = 64
    lr_factor: float = 0.1
    lr_patience: int = 0
    seed: int = 12


def wind_tunnel(n, gen):
    p = torch.rand(n, 5, generator=gen) * 2 - 1            # angle, camber, thickness, flap, log Re
    angle, camber, thick, flap, re = p.unbind(1)
    stall = torch.sigmoid(8 * (angle - 0.4 - 0.2 * re))
    lift = 1.4 * angle * (1 - stall) + 0.6 * camber + 0.8 * flap * torch.cos(2 * angle) - 0.5 * thick ** 2 + 0.4 * torch.sin(3 * camber * flap)
    return p / 0.577, ((lift - 0.0) / 0.75 + 0.08 * torch.randn(n, generator=gen)).unsqueeze(1)


class Trainer:
    def __init__(self, model, settings):
        self.model, self.s = model, settings
        self.optimizer = torch.optim.Adam(model.parameters(), lr=settings.lr)
        self.scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
            self.optimizer, factor=settings.lr_factor, patience=settings.lr_patience)
        self.loss_fn = nn.MSELoss()

    def train_epoch(self, loader):
        self.model.train()
        total = 0.0
        for x, y in loader:
            loss = self.loss_fn(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(x)
        return total / len(loader.dataset)

    @torch.no_grad()
    def validate(self, loader):
        self.model.eval()
        return sum(self.loss_fn(self.model(x), y).item() * len(x) for x, y in loader) / len(loader.dataset)

    def fit(self, train_loader, val_loader):
        for epoch in range(1, self.s.epochs + 1):
            train = self.train_epoch(train_loader)
            val = self.validate(val_loader)
            self.scheduler.step(val)
            if epoch % 10 == 0:
                print(f"epoch {epoch:3d}  train {train:.5f}  val {val:.5f}  lr {self.optimizer.param_groups[0]['lr']:.1e}")


if __name__ == "__main__":
    cfg = Settings()
    torch.manual_seed(cfg.seed)
    gen = torch.Generator().manual_seed(cfg.seed)
    train_loader = DataLoader(TensorDataset(*wind_tunnel(1600, gen)), batch_size=cfg.batch_size, shuffle=True)
    val_loader = DataLoader(TensorDataset(*wind_tunnel(400, gen)), batch_size=400)
    net = nn.Sequential(nn.Linear(5, cfg.hidden), nn.SiLU(), nn.Linear(cfg.hidden, cfg.hidden), nn.SiLU(), nn.Linear(cfg.hidden, 1))
    Trainer(net, cfg).fit(train_loader, val_loader)
