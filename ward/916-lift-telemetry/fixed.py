"""Motor current of a lift from its telemetry log."""
import torch
from torch import nn


def telemetry(g, updates=2000):
    """The controller updates now and then, the logger polls all the time."""
    x = torch.randn(updates, 10, generator=g)
    y = 0.8 * x[:, 0] + torch.tanh(2 * x[:, 1]) - 0.5 * x[:, 2].abs() + 0.5 * torch.randn(updates, generator=g)
    polls = torch.randint(2, 4, (updates,), generator=g)
    return x.repeat_interleave(polls, 0), y.repeat_interleave(polls)


class LiftNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 48), nn.SiLU())
        self.out = nn.Linear(48, 1)

    def forward(self, x):
        return self.out(self.body(x)).squeeze(-1)


class Split:
    def __init__(self, x, y, share, g):
        order = torch.randperm(len(x), generator=g)
        n = int(share * len(x))
        self.val = x[order[:n]], y[order[:n]]
        self.train = x[order[n:]], y[order[n:]]

    def batches(self, size, g):
        x, y = self.train
        for idx in torch.randperm(len(x), generator=g).split(size):
            yield x[idx], y[idx]


def main():
    torch.manual_seed(8)
    g = torch.Generator().manual_seed(8)
    x, y = telemetry(g)
    changed = torch.cat([torch.tensor([True]), (x[1:] != x[:-1]).any(1)])
    x, y = x[changed], y[changed]
    data = Split(x, y, 0.25, g)
    test_x, test_y = telemetry(g)
    net = LiftNet()
    opt = torch.optim.Adam(net.parameters(), lr=6e-3)
    for epoch in range(5):
        net.train()
        total = count = 0
        for xb, yb in data.batches(40, g):
            loss = nn.functional.mse_loss(net(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(xb)
            count += len(xb)
        net.eval()
        with torch.no_grad():
            val = nn.functional.mse_loss(net(data.val[0]), data.val[1]).item()
        print(f"epoch {epoch} train {total / count:.4f} val {val:.4f}")
    with torch.no_grad():
        print(f"another lift: {nn.functional.mse_loss(net(test_x), test_y).item():.4f}")


main()
