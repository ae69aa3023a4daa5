"""Remaining life of battery cells from their last charge curves (GRU regression)."""
import torch
from torch import nn


class CellLife(nn.Module):
    def __init__(self, channels=3, hidden=48):
        super().__init__()
        self.rnn = nn.GRU(channels, hidden, batch_first=True)
        self.head = nn.Sequential(nn.Linear(hidden, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, curves):
        _, last = self.rnn(curves)
        return self.head(last[-1]).squeeze(1)


def log_cosh(pred, target):
    diff = pred - target
    return (diff + nn.functional.softplus(-2.0 * diff) - 0.6931472).mean()


def simulate_cells(n, steps, generator):
    wear = torch.rand(n, 1, generator=generator)
    heat = torch.rand(n, 1, generator=generator)
    t = torch.linspace(0, 1, steps).unsqueeze(0)
    voltage = 1 - torch.exp(-(3 + 4 * wear) * t) + 0.03 * torch.randn(n, steps, generator=generator)
    current = torch.exp(-(2 + 3 * heat) * t) + 0.03 * torch.randn(n, steps, generator=generator)
    temp = heat * torch.sin(3.14 * t) + 0.2 * wear + 0.03 * torch.randn(n, steps, generator=generator)
    curves = torch.stack([voltage, current, temp], dim=2)
    life = 1200 * (1 - wear) ** 1.3 * (1 - 0.4 * heat) + 25 * torch.randn(n, 1, generator=generator)
    return curves, life.squeeze(1)


def iterate(x, y, size, shuffle):
    order = torch.randperm(len(x)) if shuffle else torch.arange(len(x))
    for idx in order.split(size):
        yield x[idx], y[idx]


def main():
    torch.manual_seed(6)
    g = torch.Generator().manual_seed(6)
    curves, life = simulate_cells(4000, 30, g)
    x_train, x_val = curves[:3000], curves[3000:]
    y_train, y_val = life[:3000], life[3000:]
    x_mean, x_std = x_train.mean((0, 1)), x_train.std((0, 1))
    x_train, x_val = (x_train - x_mean) / x_std, (x_val - x_mean) / x_std
    mean, std = y_train.mean(), y_train.std()

    model = CellLife()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=18)
    for epoch in range(1, 19):
        model.train()
        total = 0.0
        for xb, yb in iterate(x_train, (y_train - mean) / std, 64, True):
            optimizer.zero_grad()
            loss = log_cosh(model(xb), yb)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            total += loss.item() * len(xb)
        scheduler.step()
        model.eval()
        with torch.no_grad():
            pred = torch.cat([model(xb) for xb, _ in iterate(x_val, y_val, 250, False)]).flatten()
        mae = (pred * std + mean - y_val).abs().mean().item()
        base = (mean - y_val).abs().mean().item()
        print(f"epoch {epoch:2d} train loss {total / len(x_train):.4f}  val MAE {mae:6.1f} cycles (mean guess {base:.1f})")


if __name__ == "__main__":
    main()
