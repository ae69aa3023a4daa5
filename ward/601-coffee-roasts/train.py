import torch
import torch.nn as nn
from torch.optim.lr_scheduler import OneCycleLR

torch.manual_seed(37)


class RoastNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(3, 24, batch_first=True)
        self.norm = nn.LayerNorm(24)
        self.out = nn.Linear(24, 4)

    def forward(self, curve):
        return self.out(self.norm(self.gru(curve)[0].mean(1)))


def roasts(n, minutes=14):
    """Bean temperature, gas and air flow by the minute for four roast styles."""
    style = torch.randint(0, 4, (n,))
    t = torch.linspace(0, 1, minutes)
    speed = torch.tensor([1.2, 1.6, 2.0, 2.4])[style][:, None] + 0.12 * torch.randn(n, 1)
    bean = 2 * (1 - torch.exp(-speed * t)) - 1
    gas = torch.where(style[:, None] % 2 == 0, 0.8 - t, 0.3 - 0.2 * t)
    air = 0.5 * t.expand(n, -1)
    return torch.stack([bean, gas, air], -1) + 0.25 * torch.randn(n, minutes, 3), style


x, y = roasts(1400)
vx, vy = roasts(400)
EPOCHS, BATCH = 8, 50
net = RoastNet()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
scheduler = OneCycleLR(optimizer, max_lr=1e-2, epochs=EPOCHS, steps_per_epoch=len(x) // BATCH)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(EPOCHS):
    net.train()
    total = 0.0
    for rows in torch.randperm(len(x)).split(BATCH):
        loss = loss_fn(net(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item() * len(rows)
    net.eval()
    with torch.no_grad():
        out = net(vx)
    print(f"epoch {epoch + 1} lr {scheduler.get_last_lr()[0]:.5f} train {total / len(x):.4f} val {loss_fn(out, vy).item():.4f} acc {(out.argmax(1) == vy).float().mean():.3f}")
