"""Transfer in two stages: pretrain on printed shapes, then adapt to the digits (first the head, then everything)."""
import torch
from torch import nn
from sklearn.datasets import load_digits

torch.manual_seed(40)


def shapes(n):
    """lines, boxes, discs and crosses on 8x8 pictures"""
    g = torch.Generator().manual_seed(3)
    kind = torch.randint(0, 4, (n,), generator=g)
    yy, xx = torch.meshgrid(torch.arange(8.0), torch.arange(8.0), indexing="ij")
    cy, cx = [2.5 + 2 * torch.rand(n, 1, 1, generator=g) for _ in range(2)]
    r = 1.5 + torch.rand(n, 1, 1, generator=g)
    dy, dx = yy - cy, xx - cx
    ang = torch.rand(n, 1, 1, generator=g) * 3.14
    line = ((dy * torch.cos(ang) - dx * torch.sin(ang)).abs() < 0.8)
    box = ((torch.maximum(dy.abs(), dx.abs()) - r).abs() < 0.6)
    disc = (dy ** 2 + dx ** 2).sqrt() < r
    cross = torch.minimum(dy.abs(), dx.abs()) < 0.6
    pics = torch.stack([line, box, disc, cross], 1)[torch.arange(n), kind].float()
    return pics[:, None] * 2 - 1 + 0.2 * torch.randn(n, 1, 8, 8, generator=g), kind


def batches(x, y, size=64):
    for idx in torch.randperm(len(y)).split(size):
        yield x[idx], y[idx]


def make_net(n_out):
    body = nn.Sequential(
        nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(96, 16), nn.ReLU())
    return nn.ModuleDict({"body": body, "head": nn.Linear(16, n_out)})


def forward(net, x):
    return net["head"](net["body"](x))


def run_epochs(net, opt, train, test, epochs, tag):
    for epoch in range(epochs):
        total = []
        for x, y in batches(*train):
            loss = nn.functional.cross_entropy(forward(net, x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total.append(loss.item())
        with torch.no_grad():
            out = forward(net, test[0])
            vl = nn.functional.cross_entropy(out, test[1]).item()
            acc = (out.argmax(1) == test[1]).float().mean().item()
        if (epoch + 1) % 4 == 0:
            print(f"{tag} {epoch + 1:2d}  loss {sum(total) / len(total):.4f}  test loss {vl:.4f}  acc {acc:.3f}")


# stage 0: shapes
sx, sy = shapes(2500)
net = make_net(4)
run_epochs(net, torch.optim.Adam(net.parameters(), lr=2e-3), (sx[:2000], sy[:2000]), (sx[2000:], sy[2000:]), 8, "shapes")

# the new task
bunch = load_digits()
perm = torch.randperm(len(bunch.target))
dx = (torch.tensor(bunch.images, dtype=torch.float32)[:, None] / 8 - 1)[perm]
dy = torch.tensor(bunch.target)[perm]
train, test = (dx[:1300], dy[:1300]), (dx[1300:], dy[1300:])

# stage 1: new head, body fixed
net["head"] = nn.Linear(16, 10)
net["body"].requires_grad_(False)
opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=3e-3)
run_epochs(net, opt, train, test, 12, "head  ")

# stage 2: everything, smaller steps
net["body"].requires_grad_(True)
opt = torch.optim.Adam(net.parameters(), lr=1.5e-3)
run_epochs(net, opt, train, test, 28, "full  ")
