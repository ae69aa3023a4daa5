"""Delivery time with a prediction band: 10 %, 50 % and 90 % quantiles."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

QUANTILES = (0.1, 0.5, 0.9)


def orders(n, seed):
    rng = np.random.default_rng(seed)
    km = rng.gamma(2.0, 1.8, n)
    items = rng.poisson(3, n)
    hour = rng.uniform(10, 22, n)
    rain = rng.random(n) < 0.2
    minutes = 12 + 3.1 * km + 0.8 * items + 6 * np.exp(-((hour - 19) / 1.5) ** 2) + 4 * rain
    minutes += rng.normal(size=n) * (1.0 + 0.35 * km + 1.5 * rain)
    return np.stack([km, items, hour, rain], 1).astype("float32"), minutes.astype("float32")


class PinballLoss(nn.Module):
    def __init__(self, quantiles):
        super().__init__()
        self.quantiles = quantiles

    def forward(self, pred, target):
        total = 0.0
        for i, q in enumerate(self.quantiles):
            error = target - pred[:, i:i + 1]
            total = total + torch.maximum(q * error, (q - 1) * error).mean()
        return total / len(self.quantiles)


class BandNet(nn.Module):
    def __init__(self, n_in, hidden=64):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(n_in, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU())
        self.bands = nn.Linear(hidden, len(QUANTILES))

    def forward(self, x):
        return self.bands(self.trunk(x))


def main():
    torch.manual_seed(1)
    x, y = orders(6000, seed=0)
    xv, yv = orders(1500, seed=1)
    mx, sx, my, sy = x.mean(0), x.std(0), y.mean(), y.std()
    x, xv, y, yv = [torch.from_numpy(a) for a in ((x - mx) / sx, (xv - mx) / sx, (y - my) / sy, (yv - my) / sy)]
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)

    net, criterion = BandNet(4), PinballLoss(QUANTILES)
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    sched = torch.optim.lr_scheduler.StepLR(opt, step_size=7, gamma=0.2)
    for epoch in range(16):
        net.train()
        losses = []
        for xb, yb in loader:
            loss = criterion(net(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        sched.step()
        net.eval()
        with torch.no_grad():
            band = net(xv)
            vloss = criterion(band, yv).item()
            inside = ((yv > band[:, 0]) & (yv < band[:, 2])).float().mean().item()
            mae = (band[:, 1] - yv).abs().mean().item() * sy
        print(f"epoch {epoch:2d}  pinball {np.mean(losses):.4f}  val {vloss:.4f}  in band {inside:.2f}  median off by {mae:.2f} min")


if __name__ == "__main__":
    main()
