# Damaged parcels from the belt camera. Train on the archive, then go through today's folder.
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(8)
KINDS = ("fine", "torn", "crushed", "wet")
MEAN, STD = 0.45, 0.22


def photograph(kind, g):
    """24 x 24 grey photo, 0..255, of one parcel."""
    y, x = torch.meshgrid(torch.arange(24.0), torch.arange(24.0), indexing="ij")
    image = 120 + 12 * torch.randn(24, 24, generator=g) + 20 * torch.randn(1, generator=g)
    top, left = torch.randint(2, 6, (2,), generator=g).tolist()
    image[top : top + 15, left : left + 15] += 55
    a, b = (torch.rand(2, generator=g) * 8 + 8).tolist()
    if kind == 1:
        image[(y - x - a + b).abs() < 1.6] -= 110
    elif kind == 2:
        image[top : top + 15, left : left + 6] -= 60
    elif kind == 3:
        image[((y - a) ** 2 + (x - b) ** 2) < 18] -= 75
    return image.clamp(0, 255).round().to(torch.uint8)


class Archive(Dataset):
    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        self.kinds = torch.randint(0, 4, (count,), generator=g)
        self.photos = torch.stack([photograph(int(k), g) for k in self.kinds])

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, i):
        image = self.photos[i].float().div(255).sub(MEAN).div(STD)
        return image.unsqueeze(0), self.kinds[i]


class BeltNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc = nn.Linear(24 * 36, len(KINDS))

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


archive, held = Archive(1600, 1), Archive(400, 2)
train_loader = DataLoader(archive, batch_size=50, shuffle=True)
val_loader = DataLoader(held, batch_size=100)
net = BeltNet()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)

for epoch in range(5):
    net.train()
    for x, y in train_loader:
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
    net.eval()
    val_loss, hits = 0.0, 0
    with torch.no_grad():
        for x, y in val_loader:
            out = net(x)
            val_loss += F.cross_entropy(out, y, reduction="sum").item()
            hits += (out.argmax(1) == y).sum().item()
    print(f"{epoch}: train {loss.item():.3f}  val {val_loss / len(held):.3f}  acc {hits / len(held):.3f}")


def inspect(photo):
    """One photo from the camera, as it comes."""
    x = photo.float().div(255).sub(MEAN).div(STD)[None, None]
    with torch.no_grad():
        return int(net(x).argmax())


today = Archive(150, 3).photos
found = [inspect(photo) for photo in today]
print("today:", {kind: found.count(i) for i, kind in enumerate(KINDS)})
