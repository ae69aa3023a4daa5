"""Segment round cells in noisy microscope-like pictures with a small U-Net."""
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    size: int = 24
    n_train: int = 320
    n_val: int = 120
    base: int = 8
    batch_size: int = 16
    epochs: int = 12
    lr: float = 4e-3
    weight_decay: float = 1e-5
    seed: int = 42


def synth_cells(n, size, generator):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    masks = torch.zeros(n, 1, size, size)
    images = torch.zeros(n, 1, size, size)
    for i in range(n):
        for _ in range(int(torch.randint(1, 4, (1,), generator=generator))):
            cx, cy = (torch.rand(2, generator=generator) * size).tolist()
            r = 3.0 + 3.0 * torch.rand(1, generator=generator).item()
            blob = ((xx - cx) ** 2 + (yy - cy) ** 2 <= r * r).float()
            masks[i, 0] = torch.maximum(masks[i, 0], blob)
            images[i, 0] += blob * (0.5 + 0.5 * torch.rand(1, generator=generator).item())
        tilt = torch.randn(2, generator=generator) * 0.3
        images[i, 0] += tilt[0] * xx / size + tilt[1] * yy / size
    images += 0.35 * torch.randn(images.shape, generator=generator)
    return images, masks


def double_conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
                         nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.down1 = double_conv(1, base)
        self.down2 = double_conv(base, base * 2)
        self.bottom = double_conv(base * 2, base * 4)
        self.up2 = nn.ConvTranspose2d(base * 4, base * 2, 2, stride=2)
        self.dec2 = double_conv(base * 4, base * 2)
        self.up1 = nn.ConvTranspose2d(base * 2, base, 2, stride=2)
        self.dec1 = double_conv(base * 2, base)
        self.head = nn.Conv2d(base, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.bottom(F.max_pool2d(b, 2))
        b = self.dec2(torch.cat([b, self.up2(c)], 1))
        a = self.dec1(torch.cat([a, self.up1(b)], 1))
        return self.head(a)


def dice(logits, masks):
    pred = (logits > 0).float()
    return (2 * (pred * masks).sum() / (pred.sum() + masks.sum() + 1e-6)).item()


def main(cfg=Config()):
    torch.manual_seed(cfg.seed)
    gen = torch.Generator().manual_seed(cfg.seed)
    images, masks = synth_cells(cfg.n_train + cfg.n_val, cfg.size, gen)
    mean, std = images[:cfg.n_train].mean(), images[:cfg.n_train].std()
    images = (images - mean) / std
    x_val, m_val = images[cfg.n_train:], masks[cfg.n_train:]

    net = UNet(cfg.base)
    opt = torch.optim.Adam(net.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    bce = nn.BCEWithLogitsLoss()
    for epoch in range(cfg.epochs):
        net.train()
        running = 0.0
        for idx in torch.randperm(cfg.n_train).split(cfg.batch_size):
            loss = bce(net(images[idx]), masks[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.item() * len(idx)
        net.eval()
        with torch.no_grad():
            logits = net(x_val)
        print(f"epoch {epoch + 1:2d}/{cfg.epochs}  bce {running / cfg.n_train:.4f}  "
              f"val bce {bce(logits, m_val).item():.4f}  dice {dice(logits, m_val):.3f}")


if __name__ == "__main__":
    main()
