import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(8)
CROPS = 5
pattern = torch.rand(CROPS, 3, 8, 8)


def fly(n):
    crop = torch.randint(0, CROPS, (n,))
    return (pattern[crop] + 0.35 * torch.randn(n, 3, 8, 8)).clamp(0, 1), crop


tiles, crops = fly(1500)
val_tiles, val_crops = fly(500)
tile_loader = DataLoader(tiles, batch_size=50, shuffle=True)
crop_loader = DataLoader(crops, batch_size=50, shuffle=True)

net = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(192, 64), nn.ReLU(), nn.Linear(64, CROPS))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for epoch in range(15):
    net.train()
    for tiles, crops in zip(tile_loader, crop_loader):
        loss = F.cross_entropy(net(tiles), crops)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        out = net(val_tiles)
        print(f"epoch {epoch + 1} loss {loss.item():.3f} val {F.cross_entropy(out, val_crops).item():.3f} acc {(out.argmax(1) == val_crops).float().mean().item():.3f}")
