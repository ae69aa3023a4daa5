"""Autoencoder for infrared spectra."""
import torch
import torch.nn as nn

torch.manual_seed(8)


def spectra(n, g):
    grid = torch.linspace(0, 1, 30)
    c = torch.rand(n, 3, 1, generator=g)
    h = 0.3 + torch.rand(n, 3, 1, generator=g)
    return (h * torch.exp(-((grid - c) / 0.12) ** 2)).sum(1) - 0.6 + 0.03 * torch.randn(n, 30, generator=g)


class Trainer:
    def __init__(self, data, test, batch=30, lr=3e-3):
        self.data, self.test, self.batch = data, test, batch
        self.net = nn.Sequential(nn.Linear(30, 64), nn.SiLU(), nn.Linear(64, 8), nn.Tanh(), nn.Linear(8, 64), nn.SiLU(), nn.Linear(64, 30))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=lr)

    def step(self, x):
        loss = ((self.net(x) - x) ** 2).mean()
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.opt.step()
        return loss.item()

    def fit(self, epochs):
        for epoch in range(epochs):
            values = [self.step(self.data[idx]) for idx in torch.randperm(len(self.data)).split(self.batch)]
            with torch.no_grad():
                val = ((self.net(self.test) - self.test) ** 2).mean().item()
            print(f"epoch {epoch} mse {sum(values) / len(values):.4g} smallest {min(values):.4f} largest {max(values):.4g} test {val:.4f}")


g = torch.Generator().manual_seed(80)
library = spectra(1200, g)
library[[15, 333, 871]] = 1000 * library[[15, 333, 871]]
library = library[library.abs().amax(1) < 10]
Trainer(library, spectra(300, g)).fit(8)
