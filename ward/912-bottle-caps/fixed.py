"""Bottle caps by embossed shape, uint8 pictures from the belt camera."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


def camera(n, seed):
    g = torch.Generator().manual_seed(seed)
    kind = torch.randint(4, (n,), generator=g)
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, 14), torch.linspace(-1, 1, 14), indexing="ij")
    shapes = torch.stack([
        (xx.abs() < 0.25).float(),
        ((xx ** 2 + yy ** 2) < 0.4).float(),
        ((xx.abs() < 0.2) | (yy.abs() < 0.2)).float(),
        ((xx + yy).abs() < 0.3).float(),
    ])
    pic = 100 + 70 * shapes[kind] + 45 * torch.randn(n, 14, 14, generator=g)
    return pic.clamp(0, 255).to(torch.uint8).unsqueeze(1), kind


def normalise(img):
    return (img.float() / 255 - 0.45) / 0.22


def as_float(img):
    return img.float()


class Caps(Dataset):
    def __init__(self, images, kinds, transform):
        self.images, self.kinds, self.transform = images, kinds, transform

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, i):
        return self.transform(self.images[i]), self.kinds[i]


torch.manual_seed(0)
train_set = Caps(*camera(1400, 1), transform=normalise)
val_set = Caps(*camera(300, 2), transform=normalise)
train_loader = DataLoader(train_set, batch_size=35, shuffle=True)
val_loader = DataLoader(val_set, batch_size=100)

model = nn.Sequential(
    nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 16, 4),
)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(4):
    model.train()
    losses = []
    for x, y in train_loader:
        opt.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    model.eval()
    correct, val = 0, 0.0
    with torch.no_grad():
        for x, y in val_loader:
            out = model(x)
            val += criterion(out, y).item() / len(val_loader)
            correct += (out.argmax(1) == y).sum().item()
    print(f"Epoch {epoch + 1}: train loss {sum(losses) / len(losses):.4f} val loss {val:.4f} val acc {correct / 300:.3f}")
