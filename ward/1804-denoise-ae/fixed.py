from dataclasses import dataclass

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Settings:
    noise: float = 0.3
    latent: int = 24
    batch_size: int = 32
    epochs: int = 30
    max_lr: float = 0.5
    momentum: float = 0.9
    seed: int = 19


class DenoisingAE(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, latent), nn.ReLU())
        self.decoder = nn.Sequential(nn.Linear(latent, 96), nn.ReLU(), nn.Linear(96, 64))

    def forward(self, x):
        return self.decoder(self.encoder(x))


def data(s):
    images, _ = load_digits(return_X_y=True)
    x = torch.tensor(images, dtype=torch.float32) / 16
    x = x[torch.randperm(len(x))]
    train = DataLoader(TensorDataset(x[:1400]), batch_size=s.batch_size, shuffle=True)
    return train, x[1400:]


def corrupt(x, noise):
    return x + noise * torch.randn_like(x)


def train_epoch(model, loader, optimizer, scheduler, criterion, s):
    model.train()
    total = 0.0
    for (clean,) in loader:
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(corrupt(clean, s.noise)), clean)
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item() * len(clean)
    return total / len(loader.dataset)


@torch.no_grad()
def validate(model, clean, criterion, s):
    model.eval()
    noisy = corrupt(clean, s.noise)
    return criterion(model(noisy), clean).item()


def main():
    s = Settings()
    torch.manual_seed(s.seed)
    train, val = data(s)
    model = DenoisingAE(s.latent)
    criterion = nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=s.max_lr, momentum=s.momentum, nesterov=True)
    scheduler = OneCycleLR(optimizer, max_lr=s.max_lr, epochs=s.epochs, steps_per_epoch=len(train), pct_start=0.2)
    print(f"noise floor {s.noise ** 2:.4f}, pixel variance {val.var(0).mean():.4f}")
    for epoch in range(1, s.epochs + 1):
        tr = train_epoch(model, train, optimizer, scheduler, criterion, s)
        va = validate(model, val, criterion, s)
        if epoch % 2 == 0:
            print(f"epoch {epoch:2d}  train mse {tr:.5f}  val mse {va:.5f}")


if __name__ == "__main__":
    main()
