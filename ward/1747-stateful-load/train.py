"""Next-hour load of a grid, LSTM with truncated back-propagation through time over long streams."""
import argparse
import math

import torch
import torch.nn as nn


def load_curve(hours, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(hours, dtype=torch.float32)
    day, week = 2 * math.pi * t / 24, 2 * math.pi * t / 168
    weather = torch.zeros(hours)
    eps = torch.randn(hours, generator=g)
    for i in range(1, hours):
        weather[i] = 0.98 * weather[i - 1] + 0.2 * eps[i]
    load = 1.0 * torch.sin(day - 2) + 0.4 * torch.sin(2 * day) + 0.5 * torch.sin(week) + 0.5 * weather
    return load + 0.08 * torch.randn(hours, generator=g)


def streams(series, n):
    """Cut one long series into n parallel streams, shape (n, length)."""
    length = len(series) // n
    return series[:n * length].view(n, length)


def chunks(data, bptt):
    """Consecutive pieces in order of time: the state of one is the start of the next."""
    for i in range(0, data.shape[1] - 1, bptt):
        end = min(i + bptt, data.shape[1] - 1)
        yield data[:, i:end].unsqueeze(2), data[:, i + 1:end + 1].unsqueeze(2)


class LoadModel(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x, state=None):
        out, state = self.lstm(x, state)
        return self.head(out), state


def run_epoch(model, data, bptt, criterion, optimizer=None, clip=1.0):
    model.train(optimizer is not None)
    state, total, n = None, 0.0, 0
    for x, y in chunks(data, bptt):
        if state is not None:
            state = tuple(s.detach() for s in state)
        pred, state = model(x, state)
        loss = criterion(pred, y)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
        total += loss.item() * y.numel()
        n += y.numel()
    return total / n


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hours", type=int, default=30000)
    parser.add_argument("--streams", type=int, default=16)
    parser.add_argument("--bptt", type=int, default=32)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=22)
    parser.add_argument("--lr", type=float, default=5e-3)
    args = parser.parse_args()
    torch.manual_seed(0)

    series = load_curve(args.hours, seed=4)
    cut = int(0.85 * len(series))
    mean, std = series[:cut].mean(), series[:cut].std()
    series = (series - mean) / std
    train, val = streams(series[:cut], args.streams), streams(series[cut:], 4)
    naive = (val[:, 1:] - val[:, :-1]).pow(2).mean().item()
    print(f"train {tuple(train.shape)} val {tuple(val.shape)} persistence mse {naive:.4f}")

    model = LoadModel(args.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    criterion = nn.MSELoss()
    for epoch in range(1, args.epochs + 1):
        tl = run_epoch(model, train, args.bptt, criterion, optimizer)
        scheduler.step()
        with torch.no_grad():
            vl = run_epoch(model, val, args.bptt, criterion)
        if epoch % 2 == 0:
            print(f"epoch {epoch:2d} train {tl:.4f} val {vl:.4f}")


if __name__ == "__main__":
    main()
