"""Three spiral arms, points drawn with a little jitter."""
import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def spirals(n):
    arm = torch.randint(3, (n,))
    r = torch.rand(n).sqrt() * 2.2 + 0.1
    a = r * 2.2 + arm * 2 * math.pi / 3 + 0.15 * torch.randn(n)
    return torch.stack([r * a.cos(), r * a.sin()], 1), arm


torch.manual_seed(1)
epochs = 10
train = DataLoader(TensorDataset(*spirals(3000)), batch_size=50, shuffle=True)
x_val, y_val = spirals(600)
net = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 3))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
ce = nn.CrossEntropyLoss()

for epoch in range(epochs):
    net.train()
    window = []
    for i, (x, y) in enumerate(train):
        opt.zero_grad()
        loss = ce(net(x), y)
        loss.backward()
        opt.step()
        window.append(loss.item())
        if (i + 1) % 20 == 0:
            net.eval()
            with torch.no_grad():
                out = net(x_val)
            net.train()
            print(f"epoch {epoch} step {i + 1}: loss {sum(window) / len(window):.4f} val {ce(out, y_val).item():.4f} acc {(out.argmax(1) == y_val).float().mean().item():.3f}")
            window = []
