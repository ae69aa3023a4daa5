import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(12)


class Leaves(Dataset):
    """Small colour pictures of leaves; bytes on disk."""

    def __init__(self, count, transform):
        g = torch.Generator().manual_seed(count)
        self.labels = torch.randint(0, 3, (count,), generator=g)
        grid = torch.linspace(-1, 1, 16)
        yy, xx = torch.meshgrid(grid, grid, indexing="ij")
        pictures = []
        for label in self.labels:
            shape = (xx.abs() + yy.abs() < 0.9, xx**2 + yy**2 < 0.6, (xx.abs() < 0.35) | (yy.abs() < 0.35))[label]
            base = torch.stack([40 + 20 * shape, 70 + 110 * shape, 30 + 40 * shape]).float()
            pictures.append((base + 28 * torch.randn(base.shape, generator=g)).clamp(0, 255).to(torch.uint8))
        self.pictures = torch.stack(pictures)
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.transform(self.pictures[i]), self.labels[i]


def augment(picture):
    x = picture.float() / 255
    if torch.rand(()) < 0.5:
        x = x.flip(-1)
    return (x - 0.3) / 0.2


def plain(picture):
    return (picture.float() / 255 - 0.3) / 0.2


class LeafNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 16, 3, padding=1)
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.relu(self.conv2(x)).mean((2, 3))
        return self.head(x)


train = DataLoader(Leaves(900, augment), batch_size=30, shuffle=True)
test = DataLoader(Leaves(300, plain), batch_size=100)
net = LeafNet()
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
for epoch in range(9):
    net.train()
    for x, y in train:
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
    net.eval()
    total = right = 0
    with torch.no_grad():
        for x, y in test:
            out = net(x)
            total += F.cross_entropy(out, y).item() / len(test)
            right += (out.argmax(1) == y).sum().item()
    print(f"epoch {epoch + 1} train {loss.item():.4f} test {total:.4f} acc {right / 300:.3f}")
