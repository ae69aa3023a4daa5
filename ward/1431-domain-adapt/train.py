"""Domain-adversarial training (gradient reversal): labelled lab sensors -> unlabelled field sensors."""
import math

import torch
from torch import nn
from torch.nn import functional as F


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lam):
        ctx.lam = lam
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.lam * g, None


def sensors(n, field, gen):
    y = torch.randint(0, 4, (n,), generator=gen)
    centre = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])[y]
    core = centre + 0.45 * torch.randn(n, 2, generator=gen)
    mixed = torch.cat([core, core.prod(1, keepdim=True), core.sin()], 1) + 0.3 * torch.randn(n, 5, generator=gen)
    site = torch.randn(n, 4, generator=gen) + (0.6 if field else -0.6)
    return torch.cat([mixed, site], 1), y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(9, 48), nn.ReLU(), nn.Linear(48, 16), nn.ReLU())
        self.label = nn.Linear(16, 4)
        self.site = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, x, lam=0.0):
        h = self.body(x)
        return self.label(h), self.site(Reverse.apply(h, lam)).squeeze(1)


def accuracies(net, xs, ys, xt, yt):
    net.eval()
    with torch.no_grad():
        ls, ds = net(xs)
        lt, dt = net(xt)
    net.train()
    site = 0.5 * ((ds < 0).float().mean() + (dt > 0).float().mean())
    return (ls.argmax(1) == ys).float().mean().item(), (lt.argmax(1) == yt).float().mean().item(), site.item()


torch.manual_seed(2)
gen = torch.Generator().manual_seed(77)
xs, ys = sensors(4000, False, gen)
xt, _ = sensors(4000, True, gen)
test = (*sensors(1000, False, gen), *sensors(1000, True, gen))
net = Net()
opt = torch.optim.Adam([{"params": [*net.body.parameters(), *net.label.parameters()], "base": 1e-3},
                        {"params": net.site.parameters(), "base": 4e-3}], betas=(0.8, 0.99), weight_decay=1e-4)
STEPS, step = 2000, 0
while step < STEPS:
    for bs, bt in zip(torch.randperm(4000).split(128), torch.randperm(4000).split(128)):
        p = step / STEPS
        lam = 0.1 * (2 / (1 + math.exp(-8 * p)) - 1)
        for g in opt.param_groups:
            g["lr"] = g["base"] / (1 + 5 * p) ** 0.75
        logits, site_s = net(xs[bs], lam)
        _, site_t = net(xt[bt], lam)
        task = F.cross_entropy(logits, ys[bs])
        confuse = 0.5 * (F.softplus(site_s).mean() + F.softplus(-site_t).mean())
        opt.zero_grad()
        (task + confuse).backward()
        opt.step()
        step += 1
        if step % 200 == 0:
            a, b, d = accuracies(net, *test)
            print(f"{step:5d} task {task.item():.3f} site {confuse.item():.3f} | lab acc {a:.3f} field acc {b:.3f} site acc {d:.3f}")
        if step == STEPS:
            break
