import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(14)


def tiles(n):
    """12x12 patches of ploughed fields: furrows in one of four directions, plus soil noise."""
    label = torch.randint(0, 4, (n,))
    yy, xx = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
    angle = label[:, None, None] * torch.pi / 4 + 0.15 * torch.randn(n, 1, 1)
    phase, width = 6.3 * torch.rand(n, 1, 1), 1.2 + 0.4 * torch.rand(n, 1, 1)
    furrow = torch.sin(width * (xx * angle.cos() + yy * angle.sin()) + phase)
    return (furrow + 0.8 * torch.randn(n, 12, 12))[:, None], label


def block(c_in, c_out, stride=1):
    return nn.Sequential(nn.Conv2d(c_in, c_out, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(c_out), nn.ReLU())


def build():
    return nn.Sequential(
        block(1, 8), block(8, 8), block(8, 8), block(8, 16, stride=2), block(16, 16), block(16, 16),
        block(16, 24, stride=2), block(24, 24), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, 4))


def evaluate(model, loader, loss_fn):
    model.eval()
    loss = hits = n = 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            loss += loss_fn(out, y).item() * len(y)
            hits += (out.argmax(1) == y).sum().item()
            n += len(y)
    return loss / n, hits / n


train_loader = DataLoader(TensorDataset(*tiles(900)), batch_size=30, shuffle=True)
val_loader = DataLoader(TensorDataset(*tiles(300)), batch_size=150)
model = build()
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)

print("before training: val loss %.4f acc %.3f" % evaluate(model, val_loader, loss_fn))
for epoch in range(1, 5):
    running = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item()
    print("epoch %d: train loss %.4f" % (epoch, running / len(train_loader)), "val loss %.4f acc %.3f" % evaluate(model, val_loader, loss_fn))
