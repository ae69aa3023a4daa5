"""Short-term forecast of a sensor by a small recurrent net; large errors are kept for a plot."""

import math

import torch
from torch import nn

STEPS, CHANNELS = 96, 24


def series(count, generator):
    t = torch.arange(STEPS + 1) / 12
    phase = 2 * math.pi * torch.rand(count, 1, CHANNELS, generator=generator)
    rate = 0.6 + 0.8 * torch.rand(count, 1, CHANNELS, generator=generator)
    clean = torch.sin(rate * t[None, :, None] + phase)
    return clean + 0.1 * torch.randn(count, STEPS + 1, CHANNELS, generator=generator)


def note_errors(predicted, truth, kept=[]):
    """Remember the errors; the mean of the newest is what is printed."""
    kept.append((predicted - truth).detach().abs().mean())
    return torch.stack(kept[-20:]).mean().item()


class Forecaster(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.gru = nn.GRU(CHANNELS, width, batch_first=True)
        self.head = nn.Linear(width, CHANNELS)

    def forward(self, x):
        return self.head(self.gru(x)[0])


def validation_error(model, data):
    model.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(model(data[:, :-1]), data[:, 1:]).item()


generator = torch.Generator().manual_seed(4)
torch.manual_seed(4)
train, valid = series(1000, generator), series(200, generator)
model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=16)
for epoch in range(16):
    model.train()
    for ids in torch.randperm(len(train)).split(50):
        batch = train[ids]
        predicted = model(batch[:, :-1])
        loss = nn.functional.mse_loss(predicted, batch[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        error = note_errors(predicted, batch[:, 1:])
    schedule.step()
    print(f"epoch {epoch:2d} loss {loss.item():.4f} newest errors {error:.4f} valid {validation_error(model, valid):.4f}")
