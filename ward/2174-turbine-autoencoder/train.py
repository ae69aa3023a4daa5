"""Autoencoder on standardised turbine channels; the residual is used as an alarm score."""
import numpy as np
import torch
import torch.nn as nn

CHANNELS, FACTORS, CODE = 30, 4, 6


def record(n, rng, mix, bend):
    z = rng.normal(size=(n, FACTORS))
    return (z @ mix + np.tanh(z @ bend) * 1.2 + rng.normal(0, 0.15, (n, CHANNELS))) * 12 + 80


def mlp(sizes, act=nn.ELU, last=None):
    layers = []
    for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
        layers.append(nn.Linear(a, b))
        if i < len(sizes) - 1:
            layers.append(act())
    if last is not None:
        layers.append(last())
    return nn.Sequential(*layers)


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = mlp([CHANNELS, 96, CODE])
        self.decoder = mlp([CODE, 96, CHANNELS])

    def forward(self, x):
        return self.decoder(self.encoder(x))


def main(epochs=30, batch=64):
    torch.manual_seed(2)
    rng = np.random.default_rng(2)
    mix, bend = rng.normal(size=(FACTORS, CHANNELS)) * 0.5, rng.normal(size=(FACTORS, CHANNELS)) * 0.5
    train, val = record(4000, rng, mix, bend), record(1000, rng, mix, bend)
    mean, std = train.mean(0), train.std(0)
    train, val = [torch.tensor((a - mean) / std, dtype=torch.float32) for a in (train, val)]

    model = AutoEncoder()
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for rows in torch.randperm(len(train)).split(batch):
            x = train[rows]
            loss = nn.functional.mse_loss(model(x), x)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(rows)
        sched.step()
        model.eval()
        with torch.no_grad():
            residual = (model(val) - val).pow(2).mean(1)
        if epoch % 3 == 2:
            print(f"epoch {epoch + 1:2d} train mse {total / len(train):.4f} val mse {residual.mean():.4f} 99th percentile {residual.quantile(0.99):.3f}")


main()
