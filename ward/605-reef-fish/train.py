import torch
import torch.nn as nn

torch.manual_seed(58)


class FocalLoss(nn.Module):
    """Works on probabilities."""

    def __init__(self, gamma=1.0, eps=1e-6):
        super().__init__()
        self.gamma, self.eps = gamma, eps

    def forward(self, p, present):
        right = p * present + (1 - p) * (1 - present)
        return (-(1 - right).pow(self.gamma) * torch.log(right + self.eps)).mean()


class ReefNet(nn.Module):
    """Which of six fish are seen on a dive, from depth, temperature, visibility, coral cover..."""

    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(12, 48), nn.Tanh(), nn.Linear(48, 6))

    def forward(self, x):
        return torch.sigmoid(self.trunk(x))


def dives(n, rule=torch.randn(12, 6, generator=torch.Generator().manual_seed(1))):
    x = torch.randn(n, 12)
    return x, (x @ rule * 0.8 + 0.5 * torch.randn(n, 6) > 0.3).float()


net = ReefNet()
bce, focal = nn.BCELoss(), FocalLoss()
optimizer = torch.optim.RMSprop(net.parameters(), lr=3e-3)
x, seen = dives(1500)
vx, vseen = dives(500)
for epoch in range(9):
    net.train()
    total = 0.0
    for rows in torch.randperm(1500).split(50):
        p = net(x[rows])
        loss = 0.5 * bce(p, seen[rows]) + 0.5 * focal(p, seen[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / 30
    net.eval()
    with torch.no_grad():
        p = net(vx)
        val = 0.5 * bce(p, vseen) + 0.5 * focal(p, vseen)
    print(f"epoch {epoch + 1} train {total:.4f} val {val.item():.4f} right {((p > 0.5).float() == vseen).float().mean():.3f}")
