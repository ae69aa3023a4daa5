"""Classify close-up pictures of fabrics by their weave (direction and period of a faint stripe pattern)."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def weave_pictures(n):
    kind = torch.randint(0, 6, (n,))
    angle = (kind % 3).float() * math.pi / 3 + 0.05 * torch.randn(n)
    period = torch.where(kind < 3, 4.0, 6.0)
    yy, xx = torch.meshgrid(torch.arange(18.0), torch.arange(18.0), indexing="ij")
    along = torch.cos(angle)[:, None, None] * xx + torch.sin(angle)[:, None, None] * yy
    phase = 2 * math.pi * torch.rand(n, 1, 1)
    stripes = torch.sin(2 * math.pi * along / period[:, None, None] + phase)
    return (0.7 * stripes + 1.0 * torch.randn(n, 18, 18)).unsqueeze(1), kind


class ConvBlock(nn.Sequential):
    def __init__(self, c_in, c_out):
        super().__init__(nn.Conv2d(c_in, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU())


class WeaveNet(nn.Module):
    def __init__(self, width=12, n_classes=6):
        super().__init__()
        self.block1 = ConvBlock(1, width)
        self.block2 = ConvBlock(width, width)
        self.block3 = ConvBlock(width, width)
        self.pool = nn.AvgPool2d(2)
        self.classifier = nn.Linear(width, n_classes)

    def forward(self, x):
        x = self.block1(x)
        x = self.pool(x)
        x = self.block3(self.block2(x))
        return self.classifier(x.mean(dim=(2, 3)))


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        out = model(x)
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


torch.manual_seed(19)
x_train, y_train = weave_pictures(1500)
x_val, y_val = weave_pictures(400)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=30, shuffle=True)
model = WeaveNet()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(1, 5):
    model.train()
    total = 0.0
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    val_loss, val_acc = evaluate(model, x_val, y_val)
    print(f"epoch {epoch}: train {total / len(loader):.4f} val {val_loss:.4f} acc {val_acc:.3f}")
