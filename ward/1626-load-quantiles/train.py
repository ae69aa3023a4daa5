"""Stateful GRU over a long hourly load series, 10/50/90 % quantile forecasts one step ahead."""
import numpy as np
import torch
import torch.nn as nn

QUANTILES = torch.tensor([0.1, 0.5, 0.9])
STREAMS, WINDOW, EPOCHS = 8, 24, 14


def hourly_load(hours, rng):
    t = np.arange(hours)
    spread = 0.25 + 0.25 * (np.sin(2 * np.pi * t / 24 + 1) > 0)
    level = np.sin(2 * np.pi * t / 24) + 0.4 * np.sin(4 * np.pi * t / 24) + 0.3 * np.sin(2 * np.pi * t / 168)
    return (level + spread * rng.standard_normal(hours)).astype("float32")


def features(load):
    t = torch.arange(len(load)).float()
    return torch.stack([load, (2 * torch.pi * t / 24).sin(), (2 * torch.pi * t / 24).cos(),
                        (2 * torch.pi * t / 168).sin(), (2 * torch.pi * t / 168).cos()], -1)


def pinball(pred, target):
    diff = target.unsqueeze(-1) - pred
    return torch.maximum(QUANTILES * diff, (QUANTILES - 1) * diff).mean()


class Forecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.gru = nn.GRU(5, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 3)

    def forward(self, x, state=None):
        h, state = self.gru(x, state)
        return self.head(h), state


torch.manual_seed(9)
load = torch.from_numpy(hourly_load(7200, np.random.default_rng(9)))
train, valid = load[:5761], load[5761:]
x, y = features(load)[:5760], train[1:]
x = x.view(STREAMS, -1, 5)
y = y.view(STREAMS, -1)
xv, yv = features(load)[5761:-1].unsqueeze(0), valid[1:].unsqueeze(0)

model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(1, EPOCHS + 1):
    model.train()
    state, total, steps = None, 0.0, x.shape[1] // WINDOW
    for k in range(steps):
        part = slice(k * WINDOW, (k + 1) * WINDOW)
        pred, state = model(x[:, part], state)
        loss = pinball(pred, y[:, part])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        state = state.detach()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        pred, _ = model(xv)
        below = (yv.unsqueeze(-1) < pred).float().mean((0, 1))
    print(f"epoch {epoch:2d} train {total / steps:.4f} valid {pinball(pred, yv).item():.4f} share below q10/q50/q90 "
          + " ".join(f"{b:.2f}" for b in below.tolist()))
