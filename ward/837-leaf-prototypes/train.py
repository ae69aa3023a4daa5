"""Prototype classifier in half precision: cosine to learned class vectors."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DTYPE = torch.float16
torch.manual_seed(27)
centres = torch.randn(6, 10)


def leaves(n):
    y = torch.randint(0, 6, (n,))
    x = centres[y] + 0.7 * torch.randn(n, 10)
    x[torch.rand(n) < 0.004] = 0.0                           # empty picture
    return x, y


def unit(v):
    return v / (v.norm(dim=1, keepdim=True) + 1e-8)


class Proto(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(10, 32, bias=False), nn.SiLU(), nn.Linear(32, d, bias=False))
        self.proto = nn.Parameter(torch.randn(6, d))

    def forward(self, x):
        return 6 * unit(self.embed(x)) @ unit(self.proto).T


model = Proto().to(DTYPE)
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
xt, yt = leaves(600)
for step in range(1, 301):
    x, y = leaves(32)
    logits = model(x.to(DTYPE))
    loss = F.cross_entropy(logits.float(), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0 or step == 1:
        with torch.no_grad():
            acc = (model(xt.to(DTYPE)).argmax(1) == yt).float().mean().item()
        print(f"step {step:3d} loss {loss.item():.4f} accuracy {acc:.3f}")
