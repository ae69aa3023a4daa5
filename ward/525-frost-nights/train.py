"""Night temperatures: predict tomorrow's anomaly (standard deviations from the seasonal mean) from the last ten nights."""
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Cfg:
    window: int = 10
    hidden: int = 24
    lr: float = 3e-3
    batch: int = 64
    epochs: int = 6
    seed: int = 15


class Forecaster(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.gru = nn.GRU(1, cfg.hidden, batch_first=True)
        self.head = nn.Sequential(nn.Linear(cfg.hidden, cfg.hidden), nn.ReLU(), nn.Linear(cfg.hidden, 1), nn.ReLU())

    def forward(self, x):
        _, h = self.gru(x.unsqueeze(-1))
        return self.head(h[0]).squeeze(-1)


def anomalies(n, gen):
    z = torch.randn(n, generator=gen) * 0.35
    out = [torch.tensor(0.0), torch.tensor(0.0)]
    for e in z:
        out.append(1.45 * out[-1] - 0.62 * out[-2] + e)
    s = torch.stack(out[2:])
    return (s - s.mean()) / s.std()


def windows(series, w):
    return series.unfold(0, w + 1, 1)[:, :w].contiguous(), series[w:]


def main():
    cfg = Cfg()
    torch.manual_seed(cfg.seed)
    gen = torch.Generator().manual_seed(cfg.seed)
    series = anomalies(3000, gen)
    x, y = windows(series[:2400], cfg.window)
    xv, yv = windows(series[2400:], cfg.window)
    model = Forecaster(cfg)
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    mse = nn.MSELoss()
    for epoch in range(cfg.epochs):
        model.train()
        losses = []
        for idx in torch.randperm(len(x), generator=gen).split(cfg.batch):
            loss = mse(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            val = mse(model(xv), yv).item()
        print(f"epoch {epoch}  train {sum(losses) / len(losses):.4f}  val {val:.4f}")


if __name__ == "__main__":
    main()
