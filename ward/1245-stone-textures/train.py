"""Stone textures from 12x12 patches, a small residual net with stochastic depth."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Patches(Dataset):
    """Gratings of six orientations under speckle."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        grid = torch.linspace(-3, 3, 12)
        yy, xx = torch.meshgrid(grid, grid, indexing="ij")
        self.y = torch.randint(0, 6, (n,), generator=g)
        angle = (self.y * 30.0 + 6 * torch.randn(n, generator=g)).deg2rad()[:, None, None]
        phase = 6.3 * torch.rand(n, 1, 1, generator=g)
        wave = torch.sin(2.5 * (xx * angle.cos() + yy * angle.sin()) + phase)
        self.x = (wave + 0.8 * torch.randn(n, 12, 12, generator=g))[:, None]

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def drop_path(x, drop_prob, training):
    if drop_prob == 0.0 or not training:
        return x
    keep = 1 - drop_prob
    mask = x.new_empty(len(x), 1, 1, 1).bernoulli_(keep)
    return x * mask / keep


class Block(nn.Module):
    def __init__(self, cin, cout, drop_prob):
        super().__init__()
        self.drop_prob = drop_prob
        self.skip = nn.Conv2d(cin, cout, 1, stride=2)
        self.conv1 = nn.Conv2d(cin, cout, 3, stride=2, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(cout)

    def forward(self, x):
        out = F.relu(self.norm1(self.conv1(x)))
        out = self.norm2(self.conv2(out))
        return F.relu(self.skip(x) + drop_path(out, self.drop_prob, self.training))


class StoneNet(nn.Module):
    def __init__(self, drop_path_rate=0.9):
        super().__init__()
        self.blocks = nn.Sequential(
            Block(1, 12, drop_path_rate), Block(12, 24, drop_path_rate), Block(24, 32, drop_path_rate))
        self.head = nn.Linear(32, 6)

    def forward(self, x):
        return self.head(self.blocks(x).mean((2, 3)))


def evaluate(net, loader):
    net.eval()
    hit = loss = 0.0
    with torch.no_grad():
        for x, y in loader:
            out = net(x)
            loss += F.cross_entropy(out, y, reduction="sum").item()
            hit += (out.argmax(1) == y).sum().item()
    return loss / len(loader.dataset), hit / len(loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(2)
    train_loader = DataLoader(Patches(1200, 1), batch_size=40, shuffle=True)
    val_loader = DataLoader(Patches(400, 2), batch_size=200)
    net = StoneNet()
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-4)
    for epoch in range(7):
        net.train()
        total = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
        val_loss, acc = evaluate(net, val_loader)
        print(f"Epoch {epoch}: train_loss={total / 1200:.4f} val_loss={val_loss:.4f} val_acc={acc:.3f}")
