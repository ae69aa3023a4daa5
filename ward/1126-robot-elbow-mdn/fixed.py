"""Mixture density network for inverse kinematics: two elbow angles reach the same point."""
import math

import torch
import torch.nn as nn

torch.manual_seed(45)
K = 4


def arm(n):
    elbow = (0.4 + 2.2 * torch.rand(n)) * torch.where(torch.rand(n) < 0.5, -1.0, 1.0)
    reach = torch.sqrt(2 + 2 * torch.cos(elbow))
    x = torch.stack([(reach - 1.3) * 2, torch.randn(n)], 1)
    return x, elbow + 0.05 * torch.randn(n)


class MDN(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.head = nn.Linear(hidden, 3 * K)
        nn.init.normal_(self.head.weight, std=0.2)
        nn.init.normal_(self.head.bias, std=0.5)

    def forward(self, x):
        logit, mu, log_sigma = self.head(self.trunk(x)).chunk(3, dim=1)
        return logit.log_softmax(1), mu, log_sigma.clamp(-4, 3)

    def nll(self, x, y):
        logpi, mu, ls = self(x)
        z = (y.unsqueeze(1) - mu) / ls.exp()
        comp = -0.5 * z ** 2 - ls - 0.5 * math.log(2 * math.pi)
        return -torch.logsumexp(logpi + comp, dim=1).mean()


model = MDN()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
x, y = arm(4000)
vx, vy = arm(1000)
avg = None
for it in range(601):
    idx = torch.randint(0, len(x), (128,))
    loss = model.nll(x[idx], y[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    avg = loss.item() if avg is None else 0.95 * avg + 0.05 * loss.item()
    if it % 60 == 0:
        with torch.no_grad():
            v = model.nll(vx, vy).item()
            spread = model(vx)[1].std(1).mean().item()
        print(f"it {it:4d}  nll {avg:+.4f}  val nll {v:+.4f}  spread of component means {spread:.3f}")
