import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(18)


class Gate(nn.Module):
    """Decides by the mean voltage of a pulse."""

    def __init__(self, kinds):
        super().__init__()
        self.norm = nn.LayerNorm(1)
        self.body = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, kinds))

    def forward(self, pulse):
        level = pulse.mean(dim=1, keepdim=True)
        return self.body(self.norm(level))


def pulses(n):
    kind = torch.multinomial(torch.tensor([0.3, 0.45, 0.25]), n, replacement=True)
    return 1.5 * kind[:, None] + torch.randn(n, 20), kind


x, y = pulses(1800)
val_x, val_y = pulses(600)
net = Gate(3)
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(12):
    net.train()
    for ids in torch.randperm(len(y)).split(60):
        loss = F.cross_entropy(net(x[ids]), y[ids])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        out = net(val_x)
        print(f"{epoch + 1} loss {loss.item():.3f} val {F.cross_entropy(out, val_y).item():.3f} acc {(out.argmax(1) == val_y).float().mean().item():.3f}")
