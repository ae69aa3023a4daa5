"""Compress absorption spectra with a deep autoencoder."""
import torch
from torch import nn


def spectra(n, bins=32):
    pos = torch.linspace(0, 1, bins)
    centre = torch.rand(n, 2, 1)
    width = 0.08 + 0.06 * torch.rand(n, 2, 1)
    height = 0.5 + torch.rand(n, 2, 1)
    s = (height * torch.exp(-((pos - centre) / width) ** 2)).sum(1) + 0.03 * torch.randn(n, bins)
    return (s - 0.45) / 0.5


def stack(sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.LayerNorm(b), nn.ReLU()]
    return nn.Sequential(*layers)


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = stack([32, 64, 64, 64, 64])
        self.code = nn.Linear(64, 8)
        self.decoder = stack([8, 64, 64, 64, 64])
        self.out = nn.Linear(64, 32)

    def forward(self, x):
        return self.out(self.decoder(self.code(self.encoder(x))))


class Fitter:
    def __init__(self, model, lr, epochs, batch):
        self.model, self.epochs, self.batch = model, epochs, batch
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, epochs)
        self.mse = nn.MSELoss()

    def fit(self, train, val):
        for epoch in range(self.epochs):
            self.model.train()
            total = 0.0
            for idx in torch.randperm(len(train)).split(self.batch):
                self.opt.zero_grad()
                loss = self.mse(self.model(train[idx]), train[idx])
                loss.backward()
                self.opt.step()
                total += loss.item() * len(idx)
            self.sched.step()
            self.model.eval()
            with torch.no_grad():
                v = self.mse(self.model(val), val).item()
            if epoch % 2 == 1:
                print(f"epoch {epoch + 1:2d} reconstruction mse: train {total / len(train):.4f} val {v:.4f}")


if __name__ == "__main__":
    torch.manual_seed(52)
    Fitter(AutoEncoder(), lr=0.05, epochs=12, batch=50).fit(spectra(1500), spectra(400))
