"""Which of five weaves a small scan of a cloth shows."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(85)


class WeaveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3)
        self.conv2 = nn.Conv2d(6, 12, 3)
        self.hidden = nn.Linear(12 * 5 * 5, 32)
        self.out = nn.Linear(32, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.relu(self.conv2(x))
        x = x.flatten(1)
        return self.out(F.relu(self.hidden(x)))


def scans(n):
    kind = torch.randint(0, 5, (n,))
    grid = torch.arange(18.0)
    wave = torch.sin(grid[None, :, None] * (0.4 + 0.25 * kind[:, None, None]) + grid[None, None, :] * 0.3)
    return wave.unsqueeze(1) + 0.3 * torch.randn(n, 1, 18, 18), kind


x, y = scans(640)
val_x, val_y = scans(200)
net = WeaveNet()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(8):
    for idx in torch.randperm(len(x)).split(32):
        loss = F.cross_entropy(net(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(f"epoch {epoch}: loss {loss.item():.3f}  accuracy {(net(val_x).argmax(1) == val_y).float().mean():.3f}")
