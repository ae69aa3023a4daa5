"""Surrogate for an oscillating reactor: state (a, b) and feed -> change of the state over one interval."""
import torch
from torch import nn


def simulate(state, feed, dt=0.05, n=20):
    a, b = state[:, 0], state[:, 1]
    for _ in range(n):
        da = 1 + a * a * b - (feed + 1) * a
        db = feed * a - a * a * b
        a, b = a + dt * da, b + dt * db
    return torch.stack([a, b], dim=1)


def sample(n, g):
    state = torch.rand(n, 2, generator=g) * torch.tensor([2.5, 3.0]) + 0.2
    feed = 1.2 + torch.rand(n, generator=g) * 1.6
    return torch.cat([state, feed[:, None]], 1), simulate(state, feed) - state


class Surrogate(nn.Module):
    def __init__(self, mean, std, hidden=64):
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("std", std)
        self.lift = nn.Linear(3, hidden)
        self.norm = nn.BatchNorm1d(hidden)
        self.middle = nn.Linear(hidden, hidden)
        self.drop = nn.Dropout(p=0.0)
        self.project = nn.Linear(hidden, 2)

    def forward(self, x):
        h = self.norm(self.lift((x - self.mean) / self.std))
        h = self.drop(self.middle(h))
        return self.project(h)


class Fit:
    def __init__(self, model, lr):
        self.model, self.opt = model, torch.optim.Adam(model.parameters(), lr=lr)
        self.loss = nn.MSELoss()

    def epoch(self, x, y, batch=64):
        self.model.train()
        total = 0.0
        for b in torch.randperm(len(x)).split(batch):
            self.opt.zero_grad()
            loss = self.loss(self.model(x[b]), y[b])
            loss.backward()
            self.opt.step()
            total += loss.item() * len(b)
        return total / len(x)

    @torch.no_grad()
    def r2(self, x, y):
        self.model.eval()
        return 1 - ((self.model(x) - y) ** 2).mean().item() / y.var(0).mean().item()


if __name__ == "__main__":
    torch.manual_seed(17)
    g = torch.Generator().manual_seed(17)
    x, y = sample(3000, g)
    x_val, y_val = sample(600, g)
    centre, spread = y.mean(0), y.std(0)
    y, y_val = (y - centre) / spread, (y_val - centre) / spread
    fit = Fit(Surrogate(x.mean(0), x.std(0)), lr=3e-3)
    for e in range(10):
        mse = fit.epoch(x, y)
        print(f"epoch {e}: train mse {mse:.4f}, val R2 {fit.r2(x_val, y_val):.3f}")
