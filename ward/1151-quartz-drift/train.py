"""Frequency drift of quartz oscillators from their test-bench log; training stops by itself."""
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

BENCH_ROWS = 2000
HELD_OUT = 16


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.waited, self.state = patience, float("inf"), 0, None

    def __call__(self, value, model):
        if value < self.best:
            self.best, self.waited, self.state = value, 0, copy.deepcopy(model.state_dict())
        else:
            self.waited += 1
        return self.waited >= self.patience


def bench_log(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 8, generator=g)
    drift = torch.sin(1.5 * x[:, 0]) * x[:, 1] + 0.5 * x[:, 2] * x[:, 3] + 0.4 * x[:, 4].abs()
    return TensorDataset(x, (drift + 0.6 * torch.randn(n, generator=g)).unsqueeze(1))


def mean_loss(model, loader, loss_fn):
    model.eval()
    with torch.no_grad():
        parts = [(loss_fn(model(x), y).item(), len(y)) for x, y in loader]
    return sum(l * n for l, n in parts) / sum(n for _, n in parts)


def main():
    torch.manual_seed(6)
    train_set, val_set = random_split(bench_log(BENCH_ROWS, seed=1), [BENCH_ROWS - HELD_OUT, HELD_OUT])
    train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=200)
    model = nn.Sequential(nn.Linear(8, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    loss_fn = nn.MSELoss()
    stopper = EarlyStopping(patience=3)
    for epoch in range(1, 17):
        model.train()
        total = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        val = mean_loss(model, val_loader, loss_fn)
        print(f"epoch {epoch:2d} train {total / len(train_loader):.4f} val {val:.4f}")
        if stopper(val, model):
            print("early stopping")
            break
    model.load_state_dict(stopper.state)
    test = mean_loss(model, DataLoader(bench_log(1500, seed=2), batch_size=500), loss_fn)
    print(f"best val {stopper.best:.4f}  next bench: {test:.4f}")


if __name__ == "__main__":
    main()
