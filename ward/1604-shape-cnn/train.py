import math
import torch
import torch.nn as nn
import torch.optim as optim
from torch.optim.lr_scheduler import MultiStepLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(7)
CLASSES = ["disc", "ring", "square", "cross", "triangle", "stripes"]


def draw(kind, size, g):
    yy, xx = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing="ij")
    cy, cx, r, a = (torch.rand(4, generator=g) * torch.tensor([6.0, 6.0, 2.0, 2 * math.pi])).tolist()
    cy, cx, r = cy + size / 2 - 3, cx + size / 2 - 3, r + 3.5
    u = math.cos(a) * (yy - cy) + math.sin(a) * (xx - cx)
    v = -math.sin(a) * (yy - cy) + math.cos(a) * (xx - cx)
    d = (u * u + v * v).sqrt()
    if kind == 0:
        img = d < r
    elif kind == 1:
        img = (d < r) & (d > r - 1.8)
    elif kind == 2:
        img = (u.abs() < 0.85 * r) & (v.abs() < 0.85 * r)
    elif kind == 3:
        img = ((u.abs() < 1) | (v.abs() < 1)) & (d < 1.2 * r)
    elif kind == 4:
        img = (v > -0.6 * r) & (v < r - 1.6 * u.abs())
    else:
        img = (torch.sin(1.6 * u) > 0) & (d < r)
    return img.float() + 0.3 * torch.randn(size, size, generator=g)


def build(n, seed, size=18):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, len(CLASSES), (n,), generator=g)
    x = torch.stack([draw(int(k), size, g) for k in y])[:, None]
    return TensorDataset((x - 0.2) / 0.45, y)


class ShapeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(24, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.classifier = nn.Linear(32, len(CLASSES))

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


train_loader = DataLoader(build(1500, 0), batch_size=50, shuffle=True)
test_loader = DataLoader(build(600, 1), batch_size=300)
net = ShapeNet()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
scheduler = MultiStepLR(optimizer, milestones=[3, 6, 9], gamma=0.1)

for epoch in range(30):
    net.train()
    running_loss = 0.0
    for inputs, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(inputs), labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    scheduler.step()
    net.eval()
    correct, test_loss = 0, 0.0
    with torch.no_grad():
        for inputs, labels in test_loader:
            outputs = net(inputs)
            test_loss += criterion(outputs, labels).item()
            correct += (outputs.argmax(1) == labels).sum().item()
    if epoch % 2 == 1:
        print(f"[{epoch + 1:2d}] loss: {running_loss / len(train_loader):.3f} test loss: {test_loss / len(test_loader):.3f} accuracy: {correct / 600:.3f}")
