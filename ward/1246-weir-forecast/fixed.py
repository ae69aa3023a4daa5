"""Next-hour level at a weir from the last 24 hours (1-d conv net, early stopping)."""
import copy
import math

import torch
from torch import nn


class EarlyStopping:
    """Stops when the monitored loss has not improved by at least `delta` for `patience` checks."""

    def __init__(self, patience=3, delta=0.0):
        self.patience, self.delta = patience, delta
        self.best, self.counter, self.weights = math.inf, 0, None

    def __call__(self, value, model):
        if value < self.best - self.delta:
            self.best, self.counter = value, 0
            self.weights = copy.deepcopy(model.state_dict())
        else:
            self.counter += 1
        return self.counter >= self.patience


def levels(hours):
    t = torch.arange(hours, dtype=torch.float32)
    rain = (torch.rand(hours) < 0.06).float() * torch.rand(hours) * 2
    run_off = torch.zeros(hours)
    for h in range(1, hours):
        run_off[h] = 0.85 * run_off[h - 1] + rain[h - 1]
    level = 0.8 * torch.sin(2 * math.pi * t / 12.4) + 0.4 * torch.sin(2 * math.pi * t / 24) + run_off
    series = torch.stack([level + 0.05 * torch.randn(hours), rain])
    return (series - series.mean(1, keepdim=True)) / series.std(1, keepdim=True)


def windows(series, length=24):
    w = series.unfold(1, length + 1, 1).permute(1, 0, 2)
    return w[:, :, :-1].contiguous(), w[:, 0, -1].contiguous()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(2, 16, 5), nn.ReLU(), nn.Conv1d(16, 16, 5, stride=2), nn.ReLU(), nn.Flatten(),
            nn.Linear(16 * 8, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.body(x).squeeze(1)


torch.manual_seed(17)
x, y = windows(levels(3024))
x_train, y_train, x_val, y_val = x[:2400], y[:2400], x[2424:], y[2424:]
model = Net()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
stopper = EarlyStopping(patience=3, delta=0.0005)

for epoch in range(1, 41):
    model.train()
    perm = torch.randperm(len(x_train))
    train_loss = 0.0
    for idx in perm.split(200):
        optimizer.zero_grad()
        loss = criterion(model(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
        train_loss += loss.item() * len(idx) / len(x_train)
    model.eval()
    with torch.no_grad():
        val_loss = criterion(model(x_val), y_val).item()
    if epoch <= 10 or epoch % 5 == 0:
        print(f"epoch {epoch:2d}  train {train_loss:.4f}  val {val_loss:.4f}")
    if stopper(val_loss, model):
        print(f"early stopping in epoch {epoch}")
        break
