import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Spirals(Dataset):
    """Endless points on two spirals, made when they are asked for."""

    def __init__(self, length):
        self.length = length
        self.rng = np.random.default_rng(0)

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        arm = int(self.rng.integers(2))
        t = self.rng.uniform(0.5, 3.5)
        point = t * np.array([np.cos(2 * t + np.pi * arm), np.sin(2 * t + np.pi * arm)]) / 3 + self.rng.normal(0, 0.05, 2)
        return torch.tensor(np.append(point, t / 4), dtype=torch.float32), arm


def main():
    torch.manual_seed(0)
    train = DataLoader(Spirals(640), batch_size=32, shuffle=True, num_workers=2)
    net = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(5):
        for x, y in train:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
        print(f"epoch {epoch + 1} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
