"""Drawn shapes: pretrain on 'how many corners', then reuse the trunk for shape/filled classes (head first, then all)."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(17)
S = 16
yy, xx = torch.meshgrid(torch.arange(S).float(), torch.arange(S).float(), indexing="ij")


def draw(n, seed):
    g = torch.Generator().manual_seed(seed)
    r = lambda lo, hi: lo + (hi - lo) * torch.rand(n, 1, 1, generator=g)
    cx, cy, size, ang = r(6, 10), r(6, 10), r(3.5, 6), r(0, 2 * math.pi)
    kind = torch.randint(0, 3, (n,), generator=g)  # triangle, square, disc
    filled = torch.randint(0, 2, (n,), generator=g)
    dx, dy = xx - cx, yy - cy
    corners = torch.tensor([3.0, 4.0, 60.0])[kind].view(n, 1, 1)
    phi = torch.remainder(torch.atan2(dy, dx) + ang, 2 * math.pi / corners) - math.pi / corners
    d = torch.hypot(dx, dy) * torch.cos(phi) / torch.cos(math.pi / corners) ** 0.5 - size * 0.85
    solid, ring = torch.sigmoid(-2 * d), torch.exp(-d ** 2)
    img = torch.where(filled.view(n, 1, 1) == 1, solid, ring) + 0.1 * torch.randn(n, S, S, generator=g)
    return (img.unsqueeze(1) - 0.25) / 0.4, kind, kind * 2 + filled


class Trunk(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv2d(1, 12, 3, padding=1), nn.GroupNorm(4, 12), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(12, 24, 3, padding=1), nn.GroupNorm(4, 24), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(24, 32, 3, padding=1), nn.GroupNorm(4, 32), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
                         nn.Dropout(0.1))


def soft_ce(logits, soft):
    return -(soft * F.log_softmax(logits, 1)).sum(1).mean()


def mixup(x, y, n_cls):
    lam = torch.distributions.Beta(0.2, 0.2).sample().item()
    j = torch.randperm(len(x))
    hot = F.one_hot(y, n_cls).float() * 0.9 + 0.1 / n_cls
    return lam * x + (1 - lam) * x[j], lam * hot + (1 - lam) * hot[j]


def accuracy(net, x, y):
    net.eval()
    with torch.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()


def fit(net, params, x, y, xv, yv, n_cls, epochs, peak, tag, micro=16, accum=2):
    opt = torch.optim.AdamW(params, lr=peak, weight_decay=1e-3)
    chunks = math.ceil(len(x) / micro)
    total, done = epochs * math.ceil(chunks / accum), 0
    for ep in range(1, epochs + 1):
        net.train()
        parts = torch.randperm(len(x)).split(micro)
        summed = 0.0
        for start in range(0, len(parts), accum):
            group = parts[start:start + accum]
            size = sum(len(b) for b in group)
            done += 1
            for pg in opt.param_groups:
                pg["lr"] = peak * min(done / (0.1 * total), 0.5 * (1 + math.cos(math.pi * done / total)) + 0.01)
            opt.zero_grad()
            for b in group:
                xm, ym = mixup(x[b], y[b], n_cls)
                loss = soft_ce(net(xm), ym) * len(b) / size
                loss.backward()
                summed += loss.item() * size
            opt.step()
        if ep % 2 == 0:
            print(f"{tag} {ep:2d} soft loss {summed / len(x):.3f} val acc {accuracy(net, xv, yv):.3f}")


trunk = Trunk()
x0, k0, _ = draw(1600, 1)
xv0, kv0, _ = draw(500, 2)
stage0 = nn.Sequential(trunk, nn.Linear(128, 3))
fit(stage0, stage0.parameters(), x0, k0, xv0, kv0, 3, 10, 4e-3, "pretrain")

x1, _, c1 = draw(1000, 3)
xv1, _, cv1 = draw(500, 4)
net = nn.Sequential(trunk, nn.Linear(128, 6))
for p in trunk.parameters():
    p.requires_grad = False
fit(net, net[1].parameters(), x1, c1, xv1, cv1, 6, 4, 1e-2, "head")
for p in trunk.parameters():
    p.requires_grad = True
fit(net, net.parameters(), x1, c1, xv1, cv1, 6, 10, 2e-3, "all")
