"""PointNet in miniature: tell the shape of a cloud of 32 points."""
import math

import torch
import torch.nn as nn

cfg = dict(points=32, batch=32, steps=200, lr=2e-3, seed=77)
SHAPES = ("sphere", "cube", "cylinder", "plane")


def cloud(shape, n, g):
    u = torch.rand(n, 3, generator=g) * 2 - 1
    if shape == "sphere":
        return u / u.norm(dim=1, keepdim=True)
    if shape == "cube":
        face = torch.randint(0, 3, (n,), generator=g)
        u[torch.arange(n), face] = torch.sign(u[torch.arange(n), face])
        return u
    if shape == "cylinder":
        a = u[:, 0] * math.pi
        return torch.stack([torch.cos(a), torch.sin(a), u[:, 1]], dim=1)
    return torch.stack([u[:, 0], u[:, 1], 0.1 * u[:, 2]], dim=1)


def make_set(n, g):
    y = torch.randint(0, len(SHAPES), (n,), generator=g)
    x = torch.stack([cloud(SHAPES[k], cfg["points"], g) for k in y.tolist()])
    return x + 0.03 * torch.randn(x.shape, generator=g), y


class PointNet(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.per_point = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.classifier = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, len(SHAPES)))

    def forward(self, clouds):
        h = self.per_point(clouds)
        h = h.max(dim=1).values
        return self.classifier(h)


torch.manual_seed(cfg["seed"])
g = torch.Generator().manual_seed(cfg["seed"])
train_x, train_y = make_set(960, g)
val_x, val_y = make_set(320, g)
net = PointNet()
opt = torch.optim.AdamW(net.parameters(), lr=cfg["lr"], weight_decay=1e-3)
order, step = [], 0
while step < cfg["steps"]:
    if len(order) == 0:
        order = list(torch.randperm(len(train_y), generator=g).split(cfg["batch"]))
    idx = order.pop()
    net.train()
    loss = nn.functional.cross_entropy(net(train_x[idx]), train_y[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    step += 1
    if step % 20 == 0:
        net.eval()
        with torch.no_grad():
            out = torch.cat([net(b) for b in val_x.split(cfg["batch"])])
        print(f"step {step:3d}  loss {loss.item():.4f}  val {nn.functional.cross_entropy(out, val_y):.4f}  acc {(out.argmax(1) == val_y).float().mean():.3f}")
