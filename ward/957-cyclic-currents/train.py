"""Sea currents between islands: MLP with a cyclical learning rate."""
import torch
import torch.nn as nn

torch.manual_seed(60)


def currents(n):
    x = torch.rand(n, 4) * 2 - 1
    u = torch.sin(3 * x[:, 0]) * torch.cos(2 * x[:, 1]) + 0.5 * x[:, 2] * x[:, 3]
    v = torch.cos(3 * x[:, 1]) - 0.5 * x[:, 0] + 0.3 * x[:, 3]
    return x * 1.7, torch.stack([u, v], 1) * 1.5 + 0.1 * torch.randn(n, 2)


x, y = currents(3000)
x_val, y_val = currents(500)
net = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
sched = torch.optim.lr_scheduler.CyclicLR(opt, base_lr=0.01, max_lr=0.1, step_size_up=60, cycle_momentum=False)
for epoch in range(8):
    net.train()
    total = 0.0
    for idx in torch.randperm(len(x)).split(50):
        loss = nn.functional.mse_loss(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        total += loss.item() * len(idx) / len(x)
    net.eval()
    with torch.no_grad():
        val = nn.functional.mse_loss(net(x_val), y_val).item()
    print(f"epoch {epoch} loss {total:.4f} val {val:.4f} lr {sched.get_last_lr()[0]:.3f}")
