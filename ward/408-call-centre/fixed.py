import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def load(n, seed):
    """Calls per quarter of an hour from weekday, hour, weather and campaign features."""
    rng = np.random.default_rng(seed)
    hour = rng.uniform(0, 24, n)
    x = np.column_stack([np.sin(hour * np.pi / 12), np.cos(hour * np.pi / 12), rng.standard_normal((n, 6))])
    rate = np.exp(2.8 + 0.6 * x[:, 0] - 0.4 * x[:, 1] * x[:, 2].clip(-2, 2) + 0.25 * np.tanh(x[:, 3] * 2))
    return torch.tensor(x, dtype=torch.float32), torch.tensor(rng.poisson(rate), dtype=torch.float32)


def build(width):
    return nn.Sequential(nn.Linear(8, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1), nn.Flatten(0))


def train_epoch(model, loader, loss_fn, optimizer, max_norm):
    model.train()
    total = 0.0
    for x, calls in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(x), calls)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        total += loss.item() * len(x)
    return total / len(loader.dataset)


@torch.no_grad()
def test(model, x, calls, loss_fn):
    model.eval()
    log_rate = model(x)
    return loss_fn(log_rate, calls).item(), (log_rate.exp() - calls).abs().mean().item()


def main():
    ap = argparse.ArgumentParser(description="call volume, Poisson regression")
    ap.add_argument("--lr", type=float, default=0.011)
    ap.add_argument("--clip", type=float, default=20.0)
    ap.add_argument("--epochs", type=int, default=12)
    args = ap.parse_args()

    torch.manual_seed(2)
    train_x, train_y = load(1600, 1)
    test_x, test_y = load(600, 2)
    loader = DataLoader(TensorDataset(train_x, train_y), batch_size=64, shuffle=True)
    model = build(32)
    loss_fn = nn.PoissonNLLLoss(log_input=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    for epoch in range(1, args.epochs + 1):
        loss = train_epoch(model, loader, loss_fn, optimizer, args.clip)
        nll, mae = test(model, test_x, test_y, loss_fn)
        print(f"epoch {epoch:2d}: train {loss:.3f}  test {nll:.3f}  mean error {mae:.2f} calls")


if __name__ == "__main__":
    main()
