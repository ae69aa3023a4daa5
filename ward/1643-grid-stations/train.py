"""Load forecast on a small power grid: each station is told what its neighbours carry."""
import torch
import torch.nn.functional as F
from torch import nn

STATIONS, FEATURES, HIDDEN = 60, 6, 24


def grid(seed):
    generator = torch.Generator().manual_seed(seed)
    places = torch.rand(STATIONS, 2, generator=generator)
    distance = torch.cdist(places, places) + 10 * torch.eye(STATIONS)
    return distance.topk(4, largest=False).indices


class GridLayer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.own = nn.Linear(inputs, outputs)
        self.near = nn.Linear(inputs, outputs)

    def forward(self, h, neighbours):
        rows = []
        for station in range(h.shape[0]):
            around = h[neighbours[station]].mean(0)
            rows.append(torch.relu(self.own(h[station]) + self.near(around)))
        return torch.stack(rows)


class GridNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = GridLayer(FEATURES, HIDDEN)
        self.second = GridLayer(HIDDEN, HIDDEN)
        self.out = nn.Linear(HIDDEN, 1)

    def forward(self, x, neighbours):
        return self.out(self.second(self.first(x, neighbours), neighbours)).squeeze(-1)


def day(neighbours, generator):
    x = torch.randn(STATIONS, FEATURES, generator=generator)
    own, around = x[:, 0], x[neighbours].mean(1)
    load = 0.8 * own + around[:, 1] - 0.5 * around[:, 2] ** 2 + 0.05 * torch.randn(STATIONS, generator=generator)
    return x, load


def main():
    torch.manual_seed(8)
    neighbours = grid(1)
    generator = torch.Generator().manual_seed(2)
    held_out = [day(neighbours, generator) for _ in range(20)]
    model = GridNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(1, 181):
        x, load = day(neighbours, generator)
        loss = F.mse_loss(model(x, neighbours), load)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 45 == 0:
            with torch.no_grad():
                val = sum(F.mse_loss(model(a, neighbours), b).item() for a, b in held_out) / len(held_out)
            print(f"step {step} train {loss.item():.3f} val {val:.3f}")


if __name__ == "__main__":
    main()
