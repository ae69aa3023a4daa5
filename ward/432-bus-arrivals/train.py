import copy
import tempfile
from pathlib import Path

import torch
from torch import nn


class DelayNet(nn.Module):
    def __init__(self, lines=20, dim=6):
        super().__init__()
        self.line = nn.Embedding(lines, dim)
        self.net = nn.Sequential(nn.Linear(dim + 4, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, line, x):
        return self.net(torch.cat([self.line(line), x], dim=1)).squeeze(1)


class City:
    """Delays depend on hour, load, rain and the line's own temper; cities share most of it."""

    def __init__(self, seed, shift):
        common = torch.Generator().manual_seed(1000)
        self.temper = torch.randn(20, generator=common)
        self.gen = torch.Generator().manual_seed(seed)
        self.shift = shift

    def trips(self, n):
        line = torch.randint(0, 20, (n,), generator=self.gen)
        x = torch.randn(n, 4, generator=self.gen)
        delay = torch.sin(2 * x[:, 0]) + self.temper[line] * torch.tanh(x[:, 1]) + 0.5 * x[:, 2] * x[:, 3] + self.shift
        return line, x, delay + 0.1 * torch.randn(n, generator=self.gen)


def fit(model, city, steps, lr, batch=64):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    check = city.trips(500)
    recent = []
    for step in range(1, steps + 1):
        line, x, delay = city.trips(batch)
        loss = nn.functional.mse_loss(model(line, x), delay)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recent.append(loss.item())
        if step % (steps // 5) == 0:
            with torch.no_grad():
                val = nn.functional.mse_loss(model(check[0], check[1]), check[2]).item()
            print(f"   step {step:3d} loss {sum(recent) / len(recent):.4f} val {val:.4f}")
            recent = []


def restore(model, path):
    model = copy.deepcopy(model)
    model.load_state_dict(torch.load(path, weights_only=True))
    return model


if __name__ == "__main__":
    torch.manual_seed(38)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "northtown.pt"
        print("Northtown")
        base = DelayNet()
        fit(base, City(1, 0.0), steps=350, lr=8e-3)
        torch.save(base.state_dict(), path)

        print("Southport, starting from Northtown")
        model = DelayNet()
        restore(model, path)
        fit(model, City(2, 0.4), steps=100, lr=1e-3)
