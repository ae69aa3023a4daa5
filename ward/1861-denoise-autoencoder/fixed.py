from dataclasses import dataclass, field
from typing import List

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset, random_split


@dataclass
class DAEConfig:
    channels: List[int] = field(default_factory=lambda: [16, 24])
    noise: float = 0.3
    lr: float = 2e-3
    batch_size: int = 32
    epochs: int = 14
    seed: int = 19


class NoisyDigits(Dataset):
    """Pairs (noisy picture, clean picture); the noise is drawn anew each time."""

    def __init__(self, images, sigma):
        self.clean = torch.as_tensor(images, dtype=torch.float32).unsqueeze(1) / 16
        self.sigma = sigma

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, i):
        clean = self.clean[i]
        return clean + self.sigma * torch.randn_like(clean), clean


class DAE(nn.Module):
    def __init__(self, channels):
        super().__init__()
        a, b = channels
        self.encoder = nn.Sequential(
            nn.Conv2d(1, a, 3, padding=1), nn.ReLU(),
            nn.Conv2d(a, b, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(b, a, 4, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(a, 1, 3, padding=1),
        )

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Experiment:
    def __init__(self, cfg: DAEConfig):
        torch.manual_seed(cfg.seed)
        self.cfg = cfg
        data = NoisyDigits(load_digits().images, cfg.noise)
        train, val = random_split(data, [1500, len(data) - 1500])
        self.train_loader = DataLoader(train, batch_size=cfg.batch_size, shuffle=True)
        self.val_loader = DataLoader(val, batch_size=150)
        self.model = DAE(cfg.channels)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=cfg.lr)
        self.criterion = nn.MSELoss()

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for noisy, clean in self.train_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(noisy), clean)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(self.train_loader)

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        losses = [self.criterion(self.model(noisy), clean).item() for noisy, clean in self.val_loader]
        return sum(losses) / len(losses)

    def run(self):
        print(self.cfg)
        for epoch in range(1, self.cfg.epochs + 1):
            train, val = self.train_epoch(), self.evaluate()
            psnr = -10 * torch.log10(torch.tensor(val)).item()
            print(f"epoch {epoch:02d}/{self.cfg.epochs}  train {train:.5f}  val {val:.5f}  psnr {psnr:.2f} dB")


if __name__ == "__main__":
    Experiment(DAEConfig()).run()
