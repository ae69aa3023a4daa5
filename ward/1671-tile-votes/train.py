"""Tile patterns; after training, each tile is looked at in four ways and the answers are averaged."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(6)
KINDS = 4


def tiles(count, seed):
    g = torch.Generator().manual_seed(seed)
    kind = torch.randint(0, KINDS, (count,), generator=g)
    y, x = torch.meshgrid(torch.arange(20.0), torch.arange(20.0), indexing="ij")
    shift = 20 * torch.rand(count, 2, generator=g)
    u, v = x[None] - shift[:, :1, None], y[None] - shift[:, 1:, None]
    waves = torch.stack([torch.sin(u * 1.2), torch.sin(u * 0.6) * torch.sin(v * 0.6), torch.sin((u**2 + v**2).sqrt() * 0.9), torch.sin(v * 1.2)], 1)
    picked = waves[torch.arange(count), kind]
    return (picked + 0.6 * torch.randn(count, 20, 20, generator=g)).unsqueeze(1), kind


model = nn.Sequential(
    nn.Conv2d(1, 16, 5, stride=2), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 24, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Linear(216, KINDS)
)
train = DataLoader(TensorDataset(*tiles(1200, 1)), batch_size=40, shuffle=True)
x_test, y_test = tiles(400, 2)
test = DataLoader(TensorDataset(x_test, y_test), batch_size=100)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

for epoch in range(6):
    model.train()
    for x, y in train:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    hits = 0
    with torch.no_grad():
        for x, y in test:
            hits += (model(x).argmax(1) == y).sum().item()
    print(f"epoch {epoch}: loss {loss.item():.3f}, test accuracy {hits / len(y_test):.3f}")

model.eval()
with torch.no_grad():
    straight = model(x_test).softmax(1)
    mirrored = model(x_test.flip(-1)).softmax(1)
    upside_down = model(x_test.flip(-2)).softmax(1)
    turned = model(x_test.flip(-1, -2)).softmax(1)
votes = (straight + mirrored + upside_down + turned).argmax(1)
print(f"four looks: {(votes == y_test).float().mean():.3f}")
