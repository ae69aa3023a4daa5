"""LSGAN that makes short decaying impulse-response envelopes (16 frames) from noise."""
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    z_dim: int = 8
    frames: int = 16
    width: int = 48
    batch: int = 96
    steps: int = 350
    lr_g: float = 1e-3
    lr_d: float = 1e-3
    seed: int = 5


cfg = Config()
torch.manual_seed(cfg.seed)


def real_batch(n):
    t = torch.arange(cfg.frames).float()
    level = 1.0 + 0.3 * torch.randn(n, 1)
    rt = 3.0 + 3.0 * torch.rand(n, 1)
    env = level * torch.exp(-t / rt)
    return 2 * env - 0.8 + 0.02 * torch.randn(n, cfg.frames)


class G(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(cfg.z_dim, cfg.width), nn.LeakyReLU(0.2),
            nn.Linear(cfg.width, cfg.width), nn.LeakyReLU(0.2),
            nn.Linear(cfg.width, cfg.frames),
        )

    def forward(self, z):
        return self.net(z)


class D(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(cfg.frames, cfg.width), nn.LeakyReLU(0.2),
            nn.Linear(cfg.width, cfg.width), nn.LeakyReLU(0.2),
            nn.Linear(cfg.width, 1),
        )

    def forward(self, x):
        return self.net(x)


class Reverb(nn.Module):
    def __init__(self):
        super().__init__()
        self.g = G()
        self.d = D()
        self.opt_g = torch.optim.Adam(self.g.parameters(), lr=cfg.lr_g, betas=(0.5, 0.99))
        self.opt_d = torch.optim.Adam(self.d.parameters(), lr=cfg.lr_d, betas=(0.5, 0.99))

    def training_step(self, real):
        z = torch.randn(real.size(0), cfg.z_dim)
        fake = self.g(z)

        # generator
        self.opt_g.zero_grad()
        d_out = self.d(fake)
        g_loss = F.mse_loss(d_out, torch.ones_like(d_out))
        g_loss.backward()
        self.opt_g.step()

        # discriminator
        self.opt_d.zero_grad()
        d_real = self.d(real)
        d_fake = self.d(fake.detach())
        d_loss = 0.5 * (F.mse_loss(d_real, torch.ones_like(d_real)) + F.mse_loss(d_fake, torch.zeros_like(d_fake)))
        d_loss.backward()
        self.opt_d.step()
        return g_loss.item(), d_loss.item(), d_real.mean().item()


@torch.no_grad()
def envelope_error(model):
    fake = model.g(torch.randn(1000, cfg.z_dim))
    real = real_batch(1000)
    return (fake.mean(0) - real.mean(0)).abs().mean().item(), (fake.std(0) - real.std(0)).abs().mean().item()


model = Reverb()
for step in range(cfg.steps):
    gl, dl, dr = model.training_step(real_batch(cfg.batch))
    if step % 50 == 0 or step == cfg.steps - 1:
        em, es = envelope_error(model)
        print(f"step {step:4d}  G_loss {gl:.3f}  D_loss {dl:.3f}  D_real_mean {dr:.2f}  | env mean err {em:.3f} std err {es:.3f}")
