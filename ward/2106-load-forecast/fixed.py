"""Next-day forecast of an (artificial) hourly electricity load from the last two days."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

SEED = 7
WINDOW, HORIZON = 48, 24
EPOCHS, BATCH = 16, 64


def make_series(n, rng):
    t = np.arange(n)
    daily = np.sin(2 * np.pi * t / 24) + 0.4 * np.sin(4 * np.pi * t / 24 + 0.7)
    weekly = np.where((t // 24) % 7 < 5, 0.5, -0.7)
    drift = np.zeros(n)
    for i in range(1, n):
        drift[i] = 0.98 * drift[i - 1] + rng.normal(0, 0.05)
    return 40 + 9 * (daily * (1 + 0.3 * weekly) + weekly + drift) + rng.normal(0, 1.0, n)


def windows(series, day):
    xs, ys, cal = [], [], []
    for s in range(0, len(series) - WINDOW - HORIZON, 3):
        xs.append(series[s:s + WINDOW])
        ys.append(series[s + WINDOW:s + WINDOW + HORIZON])
        hour = np.arange(s + WINDOW, s + WINDOW + HORIZON) + day * 24
        cal.append(np.concatenate([np.eye(7)[(hour[0] // 24) % 7], [np.sin(2 * np.pi * hour[0] / 24), np.cos(2 * np.pi * hour[0] / 24)]]))
    as_t = lambda a: torch.tensor(np.array(a), dtype=torch.float32)
    return TensorDataset(as_t(xs), as_t(cal), as_t(ys))


class Forecaster(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.head = nn.Sequential(nn.Linear(hidden + 9, 64), nn.ReLU(), nn.Linear(64, HORIZON))

    def forward(self, x, cal):
        _, h = self.gru(x.unsqueeze(-1))
        return self.head(torch.cat([h[-1], cal], dim=1))


def main():
    torch.manual_seed(SEED)
    rng = np.random.default_rng(SEED)
    series = make_series(24 * 7 * 50, rng)
    cut = 24 * 7 * 42
    mean, std = series[:cut].mean(), series[:cut].std()
    scaled = (series - mean) / std
    train = DataLoader(windows(scaled[:cut], 0), batch_size=BATCH, shuffle=True)
    val = DataLoader(windows(scaled[cut:], cut // 24), batch_size=512)

    model = Forecaster()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=1e-3)
    total_steps = EPOCHS * len(train)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: max(0.001, 1 - s / total_steps))
    loss_fn = nn.MSELoss()
    for epoch in range(EPOCHS):
        model.train()
        losses = []
        for x, cal, y in train:
            optimizer.zero_grad()
            loss = loss_fn(model(x, cal), y)
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            sq = [(loss_fn(model(x, cal), y).item(), len(y)) for x, cal, y in val]
        mse = sum(a * b for a, b in sq) / sum(b for _, b in sq)
        print(f"epoch {epoch:2d}  train mse {np.mean(losses):.4f}  val mse {mse:.4f}  val rmse {std * mse ** 0.5:.2f} MW")


if __name__ == "__main__":
    main()
