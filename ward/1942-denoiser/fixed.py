"""Denoising autoencoder for small grey pictures."""
import argparse

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    """Pairs of noisy and clean pictures; fresh noise for training, the same noise each time for validation."""

    def __init__(self, clean, sigma, fixed_seed=None):
        self.clean, self.sigma = clean, sigma
        self.noise = None
        if fixed_seed is not None:
            self.noise = torch.randn(clean.shape, generator=torch.Generator().manual_seed(fixed_seed))

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, i):
        noise = torch.randn(self.clean[i].shape) if self.noise is None else self.noise[i]
        return self.clean[i] + self.sigma * noise, self.clean[i]


class DenoisingAE(nn.Module):
    def __init__(self, c=24):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, 2 * c, 3, stride=2, padding=1), nn.ReLU())
        self.mid = nn.Sequential(nn.Flatten(), nn.Linear(2 * c * 16, 64), nn.ReLU(), nn.Linear(64, 2 * c * 16), nn.ReLU())
        self.dec = nn.Sequential(nn.ConvTranspose2d(2 * c, c, 2, stride=2), nn.ReLU(), nn.Conv2d(c, 1, 3, padding=1))
        self.c = c

    def forward(self, x):
        h = self.mid(self.enc(x)).view(-1, 2 * self.c, 4, 4)
        return self.dec(h)


def psnr(mse):
    return -10 * torch.log10(torch.tensor(mse) / 4).item()


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--decay", type=float, default=0.9, help="learning rate factor per epoch")
    p.add_argument("--sigma", type=float, default=0.5)
    return p.parse_args()


def main():
    args = parse()
    torch.manual_seed(77)
    x = torch.tensor(load_digits().images, dtype=torch.float32).unsqueeze(1) / 8 - 1
    x = x[torch.randperm(len(x))]
    train = DataLoader(Noisy(x[:1300], args.sigma), batch_size=32, shuffle=True)
    val = DataLoader(Noisy(x[1300:], args.sigma, fixed_seed=1), batch_size=250)
    net = DenoisingAE()
    optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, nesterov=True)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=args.decay)
    mse = nn.MSELoss()
    for epoch in range(args.epochs):
        net.train()
        total = 0.0
        for noisy, clean in train:
            optimizer.zero_grad()
            loss = mse(net(noisy), clean)
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step()
        net.eval()
        with torch.no_grad():
            v = sum(mse(net(n), c).item() * len(c) for n, c in val) / len(val.dataset)
        print(f"epoch {epoch + 1:2d}  train {total / len(train):.4f}  val {v:.4f}  psnr {psnr(v):.2f} dB")


if __name__ == "__main__":
    main()
