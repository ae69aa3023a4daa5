"""Siamese distance with an epsilon in the root; some pairs are the same picture twice."""
import torch
import torch.nn as nn

torch.manual_seed(15)
centres = torch.randn(8, 12)


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(12, 48), nn.GELU(), nn.Linear(48, 8))

    def forward(self, a, b):
        d2 = ((self.f(a) - self.f(b)) ** 2).sum(1)
        return torch.sqrt(d2 + 1e-6)


def pairs(n):
    ka = torch.randint(0, 8, (n,))
    same = torch.rand(n) < 0.5
    kb = torch.where(same, ka, (ka + torch.randint(1, 8, (n,))) % 8)
    a = centres[ka] + 0.5 * torch.randn(n, 12)
    b = centres[kb] + 0.5 * torch.randn(n, 12)
    twice = same & (torch.rand(n) < 0.2)
    b[twice] = a[twice]
    return a, b, same.float()


net = Siamese()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
test = pairs(800)
for step in range(1, 351):
    a, b, same = pairs(48)
    d = net(a, b)
    loss = (same * d ** 2 + (1 - same) * torch.relu(1.5 - d) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 35 == 0 or step == 1:
        with torch.no_grad():
            acc = ((net(test[0], test[1]) < 0.75).float() == test[2]).float().mean().item()
        print(f"step {step:3d} loss {loss.item():.4f} pairs right {acc:.3f}")
