"""Hot spots in thermal tiles of 14 x 14 pixels."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class TileNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3), nn.GELU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3), nn.GELU(), nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(nn.Linear(16 * 2 * 2, 32), nn.GELU(), nn.Linear(32, classes))

    def forward(self, x):
        x = self.features(x)
        x = x.view(x.size(0), -1)
        return self.classifier(x)


def tiles(n):
    y = torch.randint(0, 3, (n,))
    img = 0.3 * torch.randn(n, 14, 14)
    for i, k in enumerate(y.tolist()):
        for _ in range(k):
            r, c = torch.randint(1, 11, (2,)).tolist()
            img[i, r:r + 3, c:c + 3] += 1.5
    return img.unsqueeze(1), y


torch.manual_seed(8)
loader = DataLoader(TensorDataset(*tiles(1000)), batch_size=25, shuffle=True)
xv, yv = tiles(300)
net = TileNet()
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
print(f"{sum(p.numel() for p in net.parameters())} parameters")
for epoch in range(4):
    net.train()
    tot = 0.0
    for x, y in loader:
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() / len(loader)
    net.eval()
    with torch.no_grad():
        acc = (net(xv).argmax(1) == yv).float().mean().item()
    print(f"epoch {epoch} loss {tot:.4f} accuracy {acc:.3f}")
