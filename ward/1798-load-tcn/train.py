"""One-step-ahead forecast of electricity load with a temporal convolutional network."""
import numpy as np
import torch
from torch import nn

WINDOW = 72
NOISE = 0.25


def load_curve(hours, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(hours)
    base = np.sin(2 * np.pi * t / 24) + 0.4 * np.sin(2 * np.pi * t / 12 + 0.7)
    base += 0.3 * ((t // 24) % 7 < 5)
    drift = np.zeros(hours)
    for i in range(1, hours):
        drift[i] = 0.85 * drift[i - 1] + NOISE * rng.normal()
    series = base + drift
    return torch.tensor((series - series.mean()) / series.std(), dtype=torch.float32)


def windows(series, stride):
    chunks = series.unfold(0, WINDOW + 1, stride)
    return chunks[:, :-1].unsqueeze(1), chunks[:, 1:].unsqueeze(1)     # input, the following hour


class TemporalBlock(nn.Module):
    def __init__(self, channels, kernel, dilation, dropout):
        super().__init__()
        self.pad = (kernel - 1) * dilation // 2
        self.conv = nn.Conv1d(channels, channels, kernel, dilation=dilation)
        self.mix = nn.Conv1d(channels, channels, 1)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        h = nn.functional.pad(x, (self.pad, self.pad))
        h = torch.relu(self.conv(h))
        return x + self.drop(self.mix(h))


class TCN(nn.Module):
    def __init__(self, channels=24, kernel=3, levels=4, dropout=0.05):
        super().__init__()
        self.stem = nn.Conv1d(1, channels, 1)
        self.blocks = nn.Sequential(*[TemporalBlock(channels, kernel, 2 ** i, dropout) for i in range(levels)])
        self.out = nn.Conv1d(channels, 1, 1)

    def forward(self, x):
        return self.out(torch.relu(self.blocks(self.stem(x))))


@torch.no_grad()
def day_ahead(model, series, starts):
    """Feed forecasts back for six hours, compare with what happened."""
    model.eval()
    x = torch.stack([series[s:s + WINDOW] for s in starts]).unsqueeze(1)
    truth = torch.stack([series[s + WINDOW:s + WINDOW + 6] for s in starts])
    for _ in range(6):
        nxt = model(x[:, :, -WINDOW:])[:, :, -1:]
        x = torch.cat([x, nxt], 2)
    return nn.functional.mse_loss(x[:, 0, -6:], truth).item()


def main():
    torch.manual_seed(40)
    series = load_curve(9000, seed=3)
    split = 7200
    tx, ty = windows(series[:split], 4)
    vx, vy = windows(series[split:], 12)
    model = TCN()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    loss_fn = nn.MSELoss()
    epochs = 10
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for b in torch.randperm(len(tx)).split(32):
            opt.zero_grad()
            loss = loss_fn(model(tx[b]), ty[b])
            loss.backward()
            opt.step()
            total += loss.item() * len(b)
        sched.step()
        model.eval()
        with torch.no_grad():
            val = loss_fn(model(vx), vy).item()
        print(f"epoch {epoch + 1:2d}  train mse {total / len(tx):.4f}  val mse {val:.4f}")
    starts = range(split, len(series) - WINDOW - 6, 20)
    print(f"six-hour rollout mse {day_ahead(model, series, starts):.4f}")


if __name__ == "__main__":
    main()
