"""Insurance claims with heavy tails (Student t, 2 degrees of freedom): Huber loss."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(21)
noise = torch.distributions.StudentT(2.0)


def claims(n):
    x = torch.randn(n, 7)
    mean = 1.2 * x[:, 0] + torch.sin(2 * x[:, 1]) + 0.4 * x[:, 2] * x[:, 3]
    return x, (mean + 0.2 * noise.sample((n,))).unsqueeze(1), mean.unsqueeze(1)


x, y, _ = claims(2600)
xt, yt, mt = claims(500)
loader = DataLoader(TensorDataset(x, y), batch_size=52, shuffle=True)
net = nn.Sequential(nn.Linear(7, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 1))
opt = torch.optim.AdamW(net.parameters(), lr=4e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 7, eta_min=2e-4)
huber = nn.HuberLoss(delta=0.5)
for epoch in range(7):
    net.train()
    parts = []
    for xb, yb in loader:
        loss = huber(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        parts.append(loss.item())
    sched.step()
    net.eval()
    with torch.no_grad():
        out = net(xt)
        print(f"epoch {epoch} loss {sum(parts) / len(parts):.4f} worst batch {max(parts):.3f} test {huber(out, yt).item():.4f} error against the mean {(out - mt).abs().mean().item():.4f}")
