# Inverse kinematics of a two-joint arm has two answers (elbow up / down): mixture density network.
import math

import torch
import torch.nn as nn


def arm(n, g):
    """joint angles -> hand position; the elbow goes either way"""
    a = 0.3 + 1.0 * torch.rand(n, generator=g)
    b = (0.6 + 1.2 * torch.rand(n, generator=g)) * (2 * (torch.rand(n, generator=g) < 0.5).float() - 1)
    hand = torch.stack([torch.cos(a) + 0.8 * torch.cos(a + b), torch.sin(a) + 0.8 * torch.sin(a + b)], 1)
    return hand + 0.01 * torch.randn(n, 2, generator=g), torch.stack([a, b], 1)


class MDN(nn.Module):
    def __init__(self, k=4, hidden=64):
        super().__init__()
        self.k = k
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Dropout(0.02))
        self.weight = nn.Linear(hidden, k)
        self.mean = nn.Linear(hidden, 2 * k)
        self.scale = nn.Linear(hidden, 2 * k)

    def forward(self, x):
        h = self.net(x)
        pi = torch.softmax(self.weight(h), dim=1)
        return pi, self.mean(h).view(-1, self.k, 2), nn.functional.softplus(self.scale(h)).view(-1, self.k, 2) + 0.02


def nll(out, y):
    pi, mu, sd = out
    z = (y.unsqueeze(1) - mu) / sd
    logp = (-0.5 * z ** 2 - sd.log() - 0.5 * math.log(2 * math.pi)).sum(2)
    return -torch.logsumexp(pi.clamp_min(1e-6).log() + logp, dim=1).mean()


def spread(model, x, draws=8):
    """Monte Carlo dropout: how much do the weights disagree between passes?"""
    model.train()
    with torch.no_grad():
        return torch.stack([model(x)[0] for _ in range(draws)]).std(0).mean().item()


torch.manual_seed(3)
gen = torch.Generator().manual_seed(18)
x, y = arm(5000, gen)
vx, vy = arm(1000, gen)
centre, width = x.mean(0), x.std(0)
x, vx = (x - centre) / width, (vx - centre) / width

model = MDN()
steps = 30 * 50
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
warm_cos = torch.optim.lr_scheduler.LambdaLR(
    opt, lambda s: min(1.0, (s + 1) / 100) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * s / steps))))
for epoch in range(30):
    model.train()
    run = 0.0
    for idx in torch.randperm(5000).split(100):
        opt.zero_grad()
        loss = nll(model(x[idx]), y[idx])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        opt.step()
        warm_cos.step()
        run += loss.item() / 50
    model.eval()
    with torch.no_grad():
        pi, mu, sd = model(vx)
        v = nll((pi, mu, sd), vy).item()
        best = (mu - vy.unsqueeze(1)).norm(dim=2).amin(1).mean().item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1:2d}  nll {run:.3f}  val nll {v:.3f}  nearest mode off by {best:.3f} rad  mc spread {spread(model, vx[:200]):.3f}")
