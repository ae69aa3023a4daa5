"""Depth of the seabed from sonar echoes, SGD with warm restarts (snapshots at the end of each cycle)."""
import copy

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts
from torch.utils.data import DataLoader, TensorDataset


def echoes(n, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(40.0)
    depth = torch.rand(n, 1, generator=g) * 24 + 8
    hard = torch.rand(n, 1, generator=g) + 0.5
    ping = hard * torch.exp(-((t - depth) / 2.5) ** 2) + 0.3 * torch.exp(-t / 6)
    return ping + 0.15 * torch.randn(n, 40, generator=g), (depth - 20) / 7


class Sounder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(40, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, x):
        return self.net((x - 0.2) / 0.4)


def evaluate(models, x, y):
    with torch.no_grad():
        pred = torch.stack([m(x) for m in models]).mean(0)
    return nn.functional.mse_loss(pred, y).item()


def main(epochs_per_cycle=4, cycles=3):
    torch.manual_seed(13)
    loader = DataLoader(TensorDataset(*echoes(2000, 1)), batch_size=50, shuffle=True)
    x_val, y_val = echoes(600, 2)
    model, snapshots = Sounder(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.08, momentum=0.9)
    scheduler = CosineAnnealingWarmRestarts(optimizer, T_0=epochs_per_cycle * len(loader), eta_min=1e-4)
    for epoch in range(cycles * epochs_per_cycle):
        model.train()
        total = 0.0
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            total += loss.item()
        model.eval()
        print(f"epoch {epoch + 1:2d} lr {scheduler.get_last_lr()[0]:.4f} train {total / len(loader):.4f} "
              f"val {evaluate([model], x_val, y_val):.4f}")
        if (epoch + 1) % epochs_per_cycle == 0:
            snapshots.append(copy.deepcopy(model))
            print(f"   snapshot {len(snapshots)}: ensemble val {evaluate(snapshots, x_val, y_val):.4f}")


if __name__ == "__main__":
    main()
