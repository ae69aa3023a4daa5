"""Coins from 10 x 10 pictures; one-cycle schedule."""
import torch
import torch.nn as nn

torch.manual_seed(3)


def coins(n):
    y = torch.randint(0, 5, (n,))
    yy, xx = torch.meshgrid(torch.arange(10.0), torch.arange(10.0), indexing="ij")
    c = 4.5 + torch.randn(n, 2, 1, 1) * 0.5
    r = ((yy - c[:, 0]) ** 2 + (xx - c[:, 1]) ** 2).sqrt()
    img = (r < (1.5 + 0.7 * y)[:, None, None]).float() + 0.5 * torch.cos(r * (y[:, None, None] + 1) / 2)
    return (img - 0.4 + 0.2 * torch.randn(n, 10, 10)).unsqueeze(1), y


net = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.LeakyReLU(0.1), nn.Conv2d(8, 8, 3, padding=1), nn.LeakyReLU(0.1), nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, padding=1), nn.LeakyReLU(0.1), nn.Flatten(), nn.Linear(16 * 25, 64), nn.LeakyReLU(0.1), nn.Linear(64, 5),
)
STEPS = 160
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=12.0, total_steps=STEPS, pct_start=0.3)
xt, yt = coins(400)
for step in range(1, STEPS + 1):
    net.train()
    x, y = coins(32)
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    lr = sched.get_last_lr()[0]
    sched.step()
    if step % 16 == 0 or step == 1:
        net.eval()
        with torch.no_grad():
            acc = (net(xt).argmax(1) == yt).float().mean().item()
        print(f"step {step:3d} lr {lr:.4f} loss {loss.item():.4f} accuracy {acc:.3f}")
