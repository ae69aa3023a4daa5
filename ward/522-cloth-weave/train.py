import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def swatches(n, gen):
    """12x12 swatches of three weaves: horizontal, vertical, diagonal ribs at any phase."""
    kind = torch.randint(0, 3, (n,), generator=gen)
    yy, xx = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
    direction = torch.stack([yy, xx, (xx + yy) / math.sqrt(2)])[kind]
    phase = torch.rand(n, 1, 1, generator=gen) * 2 * math.pi
    img = torch.sin(direction * 1.8 + phase) + 0.5 * torch.randn(n, 12, 12, generator=gen)
    return img[:, None], kind


class WeaveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3)
        self.conv2 = nn.Conv2d(8, 16, 3)
        self.pool = nn.AvgPool2d(4)
        self.fc1 = nn.Linear(16 * 4, 32)
        self.fc2 = nn.Linear(32, 3)

    def forward(self, x):
        x = self.conv1(x)
        x = self.conv2(x)
        x = self.pool(x).flatten(1)
        x = self.fc1(x)
        return self.fc2(x)


class Session:
    def __init__(self, seed=5):
        torch.manual_seed(seed)
        gen = torch.Generator().manual_seed(seed)
        self.train = DataLoader(TensorDataset(*swatches(1600, gen)), batch_size=32, shuffle=True)
        self.test = DataLoader(TensorDataset(*swatches(400, gen)), batch_size=400)
        self.net = WeaveNet()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=2e-3)
        self.criterion = nn.CrossEntropyLoss()

    def train_epoch(self):
        self.net.train()
        losses = []
        for x, y in self.train:
            loss = self.criterion(self.net(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)

    @torch.no_grad()
    def test_epoch(self):
        self.net.eval()
        x, y = next(iter(self.test))
        out = self.net(x)
        return self.criterion(out, y).item(), (out.argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    s = Session()
    for epoch in range(1, 6):
        tr = s.train_epoch()
        te, acc = s.test_epoch()
        print(f"{epoch}: train {tr:.4f} test {te:.4f} acc {acc:.3f}")
