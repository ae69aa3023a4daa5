"""Stamps of eight rulers with strong augmentation."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(53)
RULERS = 8
portraits = F.interpolate(torch.randn(RULERS, 1, 5, 5), size=14, mode="bilinear") * 1.4


class Stamps(Dataset):
    def __init__(self, n, augment):
        self.y = torch.randint(RULERS, (n,))
        self.x = portraits[self.y] + 0.6 * torch.randn(n, 1, 14, 14)
        self.augment = augment

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        x = self.x[i]
        if self.augment:
            dy, dx = torch.randint(-2, 3, (2,)).tolist()
            x = torch.roll(x, (dy, dx), (1, 2))
            x = x + 0.6 * torch.randn_like(x)
            r, c = torch.randint(0, 9, (2,)).tolist()
            x = x.clone()
            x[:, r:r + 6, c:c + 6] = 0
        return x, self.y[i]


train = DataLoader(Stamps(1120, augment=True), batch_size=32, shuffle=True)
val = DataLoader(Stamps(400, augment=False), batch_size=200)
net = nn.Sequential(
    nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(216, RULERS),
)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(5):
    net.train()
    total = 0.0
    for x, y in train:
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    net.eval()
    with torch.no_grad():
        out = torch.cat([net(x) for x, _ in val])
    target = val.dataset.y
    print(f"epoch {epoch} train {total / len(train):.4f} val {F.cross_entropy(out, target).item():.4f} acc {(out.argmax(1) == target).float().mean().item():.3f}")
