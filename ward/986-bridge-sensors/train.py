import math

import torch
from torch import nn

torch.manual_seed(12)
signals = torch.randn(900, 20)
load = (signals[:, :5].sum(1) * 0.5 + torch.sin(2 * signals[:, 5])).unsqueeze(1)
net = nn.Sequential(nn.Linear(20, 64), nn.SiLU(), nn.Linear(64, 1))
STEPS = 80
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: 0.5 * (1 + math.cos(math.pi * s / STEPS)))
for step in range(STEPS):
    rows = torch.randint(0, 800, (128,))
    loss = nn.functional.mse_loss(net(signals[rows]), load[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()
    schedule.step()
    if step % 20 == 19:
        with torch.no_grad():
            print(f"step {step + 1} loss {loss.item():.3f} held out {nn.functional.mse_loss(net(signals[800:]), load[800:]).item():.3f}")
