"""Long sequences with a diagonal state-space layer: which of four pulses came first?"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class DiagonalSSM(nn.Module):
    """h_t = A h_(t-1) + B u_t with a learned positive rate per channel; A = exp(dt * a)."""

    def __init__(self, channels, states, dt=0.1):
        super().__init__()
        self.dt = dt
        self.log_rate = nn.Parameter(torch.linspace(-2.5, 1.6, states))
        self.B = nn.Linear(channels, states)
        self.C = nn.Linear(states, channels)
        self.D = nn.Parameter(torch.ones(channels))

    def forward(self, u):
        a = torch.exp(self.dt * self.log_rate.exp())
        drive = self.B(u)
        h = torch.zeros(len(u), drive.size(2))
        states = []
        for t in range(u.size(1)):
            h = a * h + self.dt * drive[:, t]
            states.append(h)
        return self.C(torch.stack(states, 1)) + self.D * u


class PulseNet(nn.Module):
    def __init__(self, channels=16, states=24):
        super().__init__()
        self.inp = nn.Linear(4, channels)
        self.ssm1 = DiagonalSSM(channels, states)
        self.ssm2 = DiagonalSSM(channels, states)
        self.head = nn.Linear(channels, 4)

    def forward(self, u):
        x = self.inp(u)
        x = x + F.gelu(self.ssm1(x))
        x = x + F.gelu(self.ssm2(x))
        return self.head(x[:, -1])


def pulses(n, length=40):
    """Each of four channels rings once; the label is the channel that rang first."""
    start = torch.stack([torch.randperm(length - 8)[:4] for _ in range(n)])
    t = torch.arange(length)
    shape = (t[None, :, None] >= start[:, None]) & (t[None, :, None] < start[:, None] + 6)
    return shape.float() * 2 + 0.1 * torch.randn(n, length, 4), start.argmin(1)


torch.manual_seed(7)
x, y = pulses(1400)
xv, yv = pulses(300)
net = PulseNet()
opt = torch.optim.Adam(net.parameters(), lr=1.5e-2)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=6)
for epoch in range(6):
    net.train()
    total, norm = 0.0, 0.0
    for idx in torch.randperm(len(y)).split(50):
        loss = F.cross_entropy(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        norm = max(norm, sum(p.grad.norm() ** 2 for p in net.parameters()).sqrt().item())
        opt.step()
        total += loss.item() * len(idx)
    sched.step()
    net.eval()
    with torch.no_grad():
        acc = (net(xv).argmax(1) == yv).float().mean().item()
    print(f"epoch {epoch + 1}  loss {total / len(y):.4f}  largest grad norm {norm:.3g}  val acc {acc:.3f}")
