"""Demand model with gradient accumulation: batches of unequal size, one step per 256 rows."""
import numpy as np
import torch
from torch import nn

EFFECTIVE = 256
MICRO = 32


def table(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 10)).astype("float32")
    y = np.sin(1.5 * x[:, 0]) + 0.6 * x[:, 1] * x[:, 2] - 0.5 * np.abs(x[:, 3]) + 0.3 * x[:, 4] + 0.2 * rng.normal(size=n)
    return torch.from_numpy(x), torch.tensor((y + 0.4) / 1.1, dtype=torch.float32)


def micro_batches(n):
    """A step's worth of rows, cut into pieces that fit in memory."""
    for rows in torch.randperm(n).split(EFFECTIVE):
        yield rows.split(MICRO)


class DemandNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x)[:, 0]


def main():
    torch.manual_seed(1)
    x, y = table(8000, 1)
    xv, yv = table(1500, 2)
    model = DemandNet()
    sq = nn.MSELoss(reduction="sum")
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    epochs = 30
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    for epoch in range(1, epochs + 1):
        model.train()
        total = 0.0
        for pieces in micro_batches(len(y)):
            rows = sum(len(p) for p in pieces)
            opt.zero_grad()
            for p in pieces:
                loss = sq(model(x[p]), y[p]) / rows
                loss.backward()
                total += loss.item() * rows
            opt.step()
        sched.step()
        if epoch % 3 == 0:
            model.eval()
            with torch.no_grad():
                val = nn.functional.mse_loss(model(xv), yv).item()
            print(f"epoch {epoch:2d}  train mse {total / len(y):.4f}  val mse {val:.4f}")


if __name__ == "__main__":
    main()
