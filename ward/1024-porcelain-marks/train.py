"""Porcelain marks: a backbone trained on many old stamps is kept, only a new head learns the four marks of the new catalogue."""
import io

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

SIZE = 12


def strokes(rotation, bars, cross):
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, SIZE), torch.linspace(-1, 1, SIZE), indexing="ij")
    a = torch.tensor(rotation)
    u, v = xx * a.cos() + yy * a.sin(), yy * a.cos() - xx * a.sin()
    mark = (torch.cos(bars * 3.14 * u) > 0.3).float()
    if cross:
        mark = torch.maximum(mark, (v.abs() < 0.2).float())
    return mark


OLD = [strokes(r, b, c) for r in (0.0, 0.8, 1.6) for b in (1, 2) for c in (False, True)]
NEW = [strokes(0.4, 1, True), strokes(1.2, 2, False), strokes(2.2, 1, False), strokes(2.8, 2, True)]


def photos(catalogue, n, seed):
    g = torch.Generator().manual_seed(seed)
    kind = torch.randint(len(catalogue), (n,), generator=g)
    x = torch.stack(catalogue)[kind] - 0.5 + 0.45 * torch.randn(n, SIZE, SIZE, generator=g)
    return TensorDataset(x.unsqueeze(1), kind)


class MarkNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(24 * 9, 48), nn.ReLU(),
        )
        self.head = nn.Linear(48, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def accuracy(model, data):
    model.eval()
    with torch.no_grad():
        x, y = data.tensors
        return (model(x).argmax(1) == y).float().mean().item()


def run(model, train, val, epochs, lr, tag):
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=lr)
    for epoch in range(1, epochs + 1):
        model.train()
        total = 0.0
        for x, y in DataLoader(train, batch_size=40, shuffle=True):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
        print(f"[{tag}] epoch {epoch}: loss {total / len(train):.4f}  val acc {accuracy(model, val):.3f}")


torch.manual_seed(70)
old = MarkNet(len(OLD))
run(old, photos(OLD, 1600, 1), photos(OLD, 300, 2), epochs=3, lr=2e-3, tag="old stamps")
archive = io.BytesIO()
torch.save(old.backbone.state_dict(), archive)

archive.seek(0)
model = MarkNet(len(NEW))
model.backbone.load_state_dict(torch.load(archive))
for p in model.backbone.parameters():
    p.requires_grad_(False)
trainable = sum(p.numel() for p in model.parameters() if p.requires_grad)
print(f"{trainable} of {sum(p.numel() for p in model.parameters())} parameters are trained")
run(model, photos(NEW, 600, 3), photos(NEW, 300, 4), epochs=10, lr=3e-3, tag="new catalogue")
