import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(17)
SIZE = 14


def surface(n):
    """Grey noise pictures; those with a crack have a dark straight line through them."""
    y = (torch.rand(n) < 0.4).float()
    angle, offset = torch.rand(n, 1, 1) * torch.pi, torch.randn(n, 1, 1) * 2
    c = torch.arange(SIZE) - (SIZE - 1) / 2
    dist = (torch.cos(angle) * c[None, :, None] + torch.sin(angle) * c[None, None, :] - offset).abs()
    line = torch.exp(-dist ** 2) * y[:, None, None]
    return (0.5 * torch.randn(n, SIZE, SIZE) - 1.2 * line).unsqueeze(1), y


class CrackNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 5, padding=2)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1)
        self.fc = nn.Linear(8, 1)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.relu(self.conv2(x))
        return self.fc(x.amax(dim=(2, 3)))


def weighted_logistic(z, y, pos_weight=1.5):
    """log(1 + exp(-z)) for cracks, log(1 + exp(z)) for sound surfaces"""
    return (pos_weight * y * F.softplus(-z) + (1 - y) * F.softplus(z)).mean()


x_train, y_train = surface(2000)
x_val, y_val = surface(500)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=50, shuffle=True)
model = CrackNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(1, 5):
    model.train()
    running = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = weighted_logistic(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    with torch.no_grad():
        z = model(x_val).flatten()
        val_acc = ((z > 0).float() == y_val).float().mean().item()
        val_loss = weighted_logistic(z, y_val).item()
    print(f"Epoch {epoch} | train {running / len(loader):.4f} | val {val_loss:.4f} | acc {val_acc:.3f}")
