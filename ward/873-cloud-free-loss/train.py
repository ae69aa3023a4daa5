"""Temperature maps with measured and unmeasured cells: NaN targets are selected away, the mean is guarded."""
import torch
import torch.nn as nn

torch.manual_seed(25)


def maps(n, size=10):
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
    a, b, c = torch.randn(3, n, 1, 1)
    field = torch.tanh(a * xx + b * yy) + 0.3 * torch.sin(3 * c * xx * yy)
    seen = field + 0.5 * torch.randn(n, size, size)
    target = field.clone()
    share = torch.rand(n, 1, 1)
    target[torch.rand(n, size, size) < share] = float("nan")
    target[torch.rand(n) < 0.03] = float("nan")              # nothing measured on that day
    return seen.unsqueeze(1), target


def observed_loss(pred, target):
    there = ~torch.isnan(target)
    losses = []
    for p, t, m in zip(pred, target, there):
        if m.any():
            losses.append(((p[m] - t[m]) ** 2).mean())
    return torch.stack(losses).mean()


net = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.GELU(), nn.Conv2d(12, 12, 5, padding=2), nn.GELU(), nn.Conv2d(12, 1, 3, padding=1))
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
for step in range(1, 151):
    seen, target = maps(16)
    loss = observed_loss(net(seen).squeeze(1), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 15 == 0 or step == 1:
        print(f"step {step:3d} mse over measured cells {loss.item():.4f} ({(~target.isnan()).float().mean().item():.0%} measured)")
