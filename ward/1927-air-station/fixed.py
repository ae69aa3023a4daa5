"""Estimate the CO level from cheap gas sensors next to a reference station (hourly averages)."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SENSORS = ["pt08_co", "pt08_nmhc", "pt08_nox", "pt08_no2", "temperature", "humidity"]


def read_station(hours=6000, seed=3):
    """Hourly log of one station."""
    rng = np.random.default_rng(seed)
    t = np.arange(hours)
    traffic = 1.2 + np.sin((t % 24 - 7) / 24 * 2 * np.pi) + 0.35 * np.sin(t / 168 * 2 * np.pi) + 0.3 * rng.standard_normal(hours)
    temp = 14 + 8 * np.sin(t / 8760 * 2 * np.pi) + 5 * np.sin((t % 24 - 9) / 24 * 2 * np.pi) + rng.standard_normal(hours)
    hum = np.clip(65 - 1.4 * (temp - 14) + 7 * rng.standard_normal(hours), 10, 98)
    noise = lambda s: s * rng.standard_normal(hours)
    table = np.column_stack([1100 + 180 * traffic + 2 * temp + noise(25), 940 + 200 * traffic - 1.5 * hum + noise(30),
                             835 - 150 * np.tanh(traffic) + noise(20), 1450 + 140 * traffic - 3 * temp + noise(30), temp, hum])
    co = 2.1 + 0.9 * traffic + 0.25 * np.tanh(traffic) * (temp - 14) / 8 + noise(0.12)
    # the logger's serial line loses its frame now and then
    for row in np.flatnonzero(rng.random(hours) < 0.005):
        table[row, :4] = rng.integers(-2 ** 15, 2 ** 15, 4)
    return table.astype("float32"), co.astype("float32")


def scale(table):
    """Median and interquartile range per sensor."""
    q1, q2, q3 = np.percentile(table, [25, 50, 75], axis=0)
    return ((table - q2) / ((q3 - q1) / 1.35)).astype("float32")


def split(table, co, seed=0):
    order = np.random.default_rng(seed).permutation(len(co))
    cut = int(0.8 * len(co))
    a, b = order[:cut], order[cut:]
    pack = lambda i: TensorDataset(torch.from_numpy(table[i]), torch.from_numpy(co[i]).unsqueeze(1))
    return pack(a), pack(b)


def main():
    torch.manual_seed(2)
    table, co = read_station()
    known = (np.abs(table) < 3000).all(1) & np.isfinite(co)
    table, co = table[known], co[known]
    co = (co - co.mean()) / co.std()
    train, val = split(scale(table), co)
    loader = DataLoader(train, batch_size=32, shuffle=True)
    val_loader = DataLoader(val, batch_size=400)
    net = nn.Sequential(nn.Linear(len(SENSORS), 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 20)
    mse = nn.MSELoss()
    for epoch in range(20):
        net.train()
        batch_losses = []
        for x, y in loader:
            opt.zero_grad()
            loss = mse(net(x), y)
            loss.backward()
            opt.step()
            batch_losses.append(loss.item())
        sched.step()
        net.eval()
        with torch.no_grad():
            v = sum(mse(net(x), y).item() * len(y) for x, y in val_loader) / len(val)
        print(f"{epoch + 1:2d} train mean {np.mean(batch_losses):.4f} median {np.median(batch_losses):.4f} "
              f"worst {max(batch_losses):.2f} | val {v:.4f}")


if __name__ == "__main__":
    main()
