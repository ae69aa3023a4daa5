"""Despeckling of radar chips with a five-layer conv net (SRCNN-like, no skip)."""
from dataclasses import dataclass, field

import torch
from torch import nn, optim


@dataclass
class Settings:
    channels: list = field(default_factory=lambda: [1, 16, 16, 16, 16, 1])
    init_std: float = 1e-3
    lr: float = 0.015
    momentum: float = 0.9
    batch: int = 16
    epochs: int = 6
    seed: int = 27


def chips(n, size=16):
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
    a = torch.randn(n, 3, 1, 1)
    clean = torch.sin(3 * a[:, 0] * xx + 2 * a[:, 1] * yy + 3 * a[:, 2])
    clean = clean + 0.5 * (xx[None] > a[:, 0]).float() - 0.25
    noisy = clean + 0.4 * torch.randn(n, size, size)
    return noisy.unsqueeze(1), clean.unsqueeze(1)


def build(cfg):
    layers = []
    for i, (a, b) in enumerate(zip(cfg.channels[:-1], cfg.channels[1:])):
        conv = nn.Conv2d(a, b, 3, padding=1)
        nn.init.normal_(conv.weight, mean=0.0, std=cfg.init_std)
        nn.init.zeros_(conv.bias)
        layers.append(conv)
        if i < len(cfg.channels) - 2:
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


def psnr(mse):
    return -10 * torch.log10(torch.tensor(mse)).item()


def fit(cfg):
    torch.manual_seed(cfg.seed)
    noisy, clean = chips(640)
    vnoisy, vclean = chips(100)
    net = build(cfg)
    opt = optim.SGD(net.parameters(), lr=cfg.lr, momentum=cfg.momentum)
    for epoch in range(1, cfg.epochs + 1):
        acc = 0.0
        for idx in torch.randperm(len(noisy)).split(cfg.batch):
            loss = nn.functional.mse_loss(net(noisy[idx]), clean[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            acc += loss.item() * len(idx)
        with torch.no_grad():
            v = nn.functional.mse_loss(net(vnoisy), vclean).item()
        print(f"epoch {epoch}/{cfg.epochs}  train mse {acc / len(noisy):.4f}  val mse {v:.4f}  psnr {psnr(v):.2f} dB")


if __name__ == "__main__":
    fit(Settings())
