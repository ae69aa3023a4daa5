import random
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits


@dataclass
class Settings:
    seed: int = 1234
    epochs: int = 40
    batch_size: int = 50
    lr: float = 2e-3
    sigma: float = 0.35
    drop: float = 0.1


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)


class Corruption:
    """Gaussian noise plus blanked pixels, as on the scanned sheets."""

    def __init__(self, sigma, drop):
        self.sigma, self.drop = sigma, drop
        self.rng = np.random.default_rng()

    def __call__(self, clean):
        noise = self.rng.normal(0, self.sigma, clean.shape)
        keep = self.rng.random(clean.shape) >= self.drop
        return torch.from_numpy(((clean.numpy() + noise) * keep).astype("float32"))


class DenoisingAE(nn.Module):
    def __init__(self, hidden=128, code=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, code), nn.ReLU())
        self.decoder = nn.Sequential(nn.Linear(code, hidden), nn.ReLU(), nn.Linear(hidden, 64))

    def forward(self, x):
        return self.decoder(self.encoder(x))


def train_epoch(model, clean, corrupt, optimizer, batch_size):
    model.train()
    total = 0.0
    for ids in torch.randperm(len(clean)).split(batch_size):
        batch = clean[ids]
        loss = nn.functional.mse_loss(model(corrupt(batch)), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(batch)
    return total / len(clean)


@torch.no_grad()
def restore_error(model, clean, corrupt):
    model.eval()
    return nn.functional.mse_loss(model(corrupt(clean)), clean).item()


def main(cfg):
    seed_everything(cfg.seed)
    images = np.random.permutation(load_digits().images).reshape(-1, 64).astype("float32") / 16
    train, test = torch.from_numpy(images[:1400]), torch.from_numpy(images[1400:])
    corrupt = Corruption(cfg.sigma, cfg.drop)
    model = DenoisingAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=cfg.epochs)
    for epoch in range(1, cfg.epochs + 1):
        loss = train_epoch(model, train, corrupt, optimizer, cfg.batch_size)
        scheduler.step()
        if epoch % 5 == 0:
            print(f"epoch {epoch:2d}: train mse {loss:.6f}, test mse {restore_error(model, test, corrupt):.6f}")
    checksum = sum(p.abs().sum().item() for p in model.parameters())
    print(f"finished, weight checksum {checksum:.5f}")


if __name__ == "__main__":
    main(Settings())
