import torch
import torch.nn as nn

torch.manual_seed(3)


class Block(nn.Module):
    """Residual branch that starts as the identity: the last layer of each branch is zero."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        nn.init.zeros_(self.down.weight)
        nn.init.zeros_(self.down.bias)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class ResNet(nn.Module):
    def __init__(self, width=32, depth=8):
        super().__init__()
        self.inp = nn.Linear(6, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.out = nn.Linear(width, 1)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x):
        x = self.inp(x)
        for block in self.blocks:
            x = block(x)
        return self.out(x).squeeze(1)


def data(n):
    x = torch.randn(n, 6)
    y = torch.sin(1.5 * x[:, 0]) + x[:, 1] * x[:, 2] * 0.7 + 0.3 * x[:, 3].abs() - 0.24 + 0.05 * torch.randn(n)
    return x, y


x, y = data(3000)
xv, yv = data(500)
model = ResNet()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(5):
    model.train()
    losses = []
    for b in torch.randperm(3000).split(60):
        loss = nn.functional.mse_loss(model(x[b]), y[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        val = nn.functional.mse_loss(model(xv), yv).item()
    print(f"epoch {epoch} train {sum(losses) / len(losses):.4f} val {val:.4f}")
