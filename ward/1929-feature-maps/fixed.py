"""Texture classifier; keeps the feature maps of the second block for the figures in the report."""
import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def textures(n=1600, size=24, seed=6):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    freq = 0.25 + 0.1 * torch.rand(n, 1, 1, generator=g)
    phase = 2 * math.pi * torch.rand(n, 1, 1, generator=g)
    h, v = torch.sin(2 * math.pi * freq * yy + phase), torch.sin(2 * math.pi * freq * xx + phase)
    d = torch.sin(2 * math.pi * freq * (xx + yy) / 1.4 + phase)
    x = torch.stack([h, v, d, h * v], 1)[torch.arange(n), y]
    return (x + 1.9 * torch.randn(n, size, size, generator=g)).unsqueeze(1), y


class Recorder:
    """Forward hook that notes what a layer puts out."""

    def __init__(self, layer):
        self.maps = []
        layer.register_forward_hook(self)

    def __call__(self, module, inputs, output):
        self.maps = [output.detach().clone()]

    def summary(self):
        last = self.maps[-1]
        return f"maps {tuple(last.shape)} mean {last.mean():.3f} active {(last > 0).float().mean():.2f}"


class TextureNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.block1 = nn.Sequential(nn.Conv2d(1, 12, 5, padding=2), nn.BatchNorm2d(12), nn.ReLU())
        self.block2 = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU())
        self.head = nn.Linear(24, 4)

    def forward(self, x):
        return self.head(self.block2(self.block1(x)).mean((2, 3)))


def train(model, data, held, recorder, epochs=14):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for x, y in data:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step()
        model.eval()
        ok = 0
        with torch.no_grad():
            for x, y in held:
                ok += (model(x).argmax(1) == y).sum().item()
        print(f"epoch {epoch + 1:2d} | loss {total / len(data):.4f} | val acc {ok / len(held.dataset):.3f} | {recorder.summary()}")


torch.manual_seed(6)
x, y = textures()
fit, held = random_split(TensorDataset(x, y), [1200, 400])
model = TextureNet()
recorder = Recorder(model.block2)
train(model, DataLoader(fit, 40, shuffle=True), DataLoader(held, 100), recorder)
