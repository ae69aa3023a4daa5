"""Day-ahead forecast of electric load from the last four days of hourly values."""
import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(5)
torch.manual_seed(5)

LOOKBACK, HORIZON = 96, 24


def make_load(days=300):
    t = np.arange(days * 24)
    hour, dow = t % 24, (t // 24) % 7
    temp = 10 - 9 * np.cos(2 * np.pi * t / (24 * 365)) + 3 * np.sin(2 * np.pi * (hour - 9) / 24)
    weather = np.zeros(len(t))
    for i in range(1, len(t)):
        weather[i] = 0.98 * weather[i - 1] + rng.normal(0, 0.35)
    temp = temp + weather
    load = 40 + 9 * np.sin(2 * np.pi * (hour - 7) / 24) + 4 * np.sin(4 * np.pi * (hour - 4) / 24)
    load = load - 6 * (dow >= 5) + 0.5 * np.abs(temp - 16) + rng.normal(0, 1.0, len(t))
    return np.stack([load, temp, dow >= 5], 0).astype("float32")


series = make_load()
split = int(series.shape[1] * 0.8)
mu, sd = series[:, :split].mean(1, keepdims=True), series[:, :split].std(1, keepdims=True)
series = torch.from_numpy((series - mu) / sd)


def batches(lo, hi, batch_size, shuffle):
    starts = torch.arange(lo, hi - LOOKBACK - HORIZON)
    if shuffle:
        starts = starts[torch.randperm(len(starts))]
    for s in starts.split(batch_size):
        w = series[:, s[:, None] + torch.arange(LOOKBACK + HORIZON)].transpose(0, 1)
        yield w[:, :, :LOOKBACK], w[:, 0, LOOKBACK:]


class Forecaster(nn.Module):
    def __init__(self, ch=24):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(3, ch, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv1d(ch, ch, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv1d(ch, ch, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.out = nn.Linear(ch * LOOKBACK // 8, HORIZON)

    def forward(self, x):
        return self.out(self.conv(x).flatten(1))


model = Forecaster()
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9, nesterov=True)

for epoch in range(10):
    model.train()
    losses = []
    for x, y in batches(0, split, 64, True):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        err = [(model(x) - y).abs().mean().item() for x, y in batches(split, series.shape[1], 256, False)]
    print(f"epoch {epoch + 1}  mse {np.mean(losses):.4f}  val MAE {np.mean(err) * sd[0, 0]:.2f} MW")
