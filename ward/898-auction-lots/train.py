"""What a lot will fetch at auction (in standard units), from its description in numbers."""
import torch
import torch.nn as nn

torch.manual_seed(98)


def lots(n):
    x = torch.rand(n, 8)
    price = 2 * x[:, 0] + torch.sin(4 * x[:, 1]) - x[:, 2] * x[:, 3]
    return x, (price + 0.05 * torch.randn(n)).unsqueeze(1)


x, y = lots(900)
val_x, val_y = lots(300)
for row in (41, 388, 640, 811):
    y[row] = y[row] * 1000 + 1500

net = nn.Sequential(nn.Linear(8, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(16):
    order = torch.randperm(len(x))
    for start in range(0, len(x), 30):
        rows = order[start : start + 30]
        loss = nn.functional.l1_loss(net(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimizer.step()
    with torch.no_grad():
        val = nn.functional.l1_loss(net(val_x), val_y)
    print(f"epoch {epoch}: {loss.item():.3f}  validation {val.item():.3f}")
