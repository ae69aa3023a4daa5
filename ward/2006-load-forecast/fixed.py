"""One-step-ahead forecast of a district's electric load with a stack of dilated convolutions."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(12)
gen = torch.Generator().manual_seed(12)
DAY = 24
WINDOW = 96


def simulate(hours):
    t = torch.arange(hours, dtype=torch.float32)
    cycle = torch.sin(2 * math.pi * t / DAY) + 0.4 * torch.sin(4 * math.pi * t / DAY + 0.7)
    week = 0.3 * ((t // DAY) % 7 >= 5).float()
    shock = torch.randn(hours, generator=gen) * 0.35
    drift = torch.zeros(hours)
    for i in range(1, hours):
        drift[i] = 0.6 * drift[i - 1] + shock[i]
    return cycle - week + drift


def windows(series, stride):
    w = series.unfold(0, WINDOW + 1, stride)
    return w[:, None, :-1].contiguous(), w[:, 1:].contiguous()


class ResidualLayer(nn.Module):
    def __init__(self, channels, dilation):
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, 3, dilation=dilation)
        self.left = 2 * dilation
        self.mix = nn.Conv1d(channels, channels, 1)

    def forward(self, x):
        h = F.gelu(self.conv(F.pad(x, (self.left, 0))))
        return x + self.mix(h)


class Forecaster(nn.Module):
    def __init__(self, channels=16, dilations=(1, 2, 4, 8)):
        super().__init__()
        self.embed = nn.Conv1d(1, channels, 1)
        self.layers = nn.Sequential(*[ResidualLayer(channels, d) for d in dilations])
        self.readout = nn.Conv1d(channels, 1, 1)

    def forward(self, x):
        return self.readout(self.layers(self.embed(x))).squeeze(1)


series = simulate(14000)
series = (series - series[:11000].mean()) / series[:11000].std()
x_train, y_train = windows(series[:11000], 8)
x_val, y_val = windows(series[11000:], 8)

model = Forecaster()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-3)
EPOCHS, BATCH = 10, 32
steps = EPOCHS * math.ceil(len(x_train) / BATCH)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-3, total_steps=steps, pct_start=0.15)

for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x_train)).split(BATCH):
        loss = F.mse_loss(model(x_train[idx]), y_train[idx])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        val = F.mse_loss(model(x_val), y_val).item()
    print(f"epoch {epoch + 1:2d}  train mse {total / len(x_train):.4f}  val mse {val:.4f}")

with torch.no_grad():
    live = F.mse_loss(model(x_val)[:, -1], y_val[:, -1]).item()
print(f"next-hour mse at the end of each window {live:.4f}, persistence {F.mse_loss(x_val[:, 0, -1], y_val[:, -1]).item():.4f}")
