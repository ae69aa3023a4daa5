import argparse
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser("textures, one-cycle policy with a large peak rate")
parser.add_argument("--peak-lr", type=float, default=0.15)
parser.add_argument("--epochs", type=int, default=8)
parser.add_argument("--batch", type=int, default=64)
opts = parser.parse_args()
torch.manual_seed(77)


def textures(n, seed):
    """Stripes, checks, rings, blobs and plain noise."""
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[:16, :16] / 16.0
    out, labels = np.empty((n, 1, 16, 16), dtype=np.float32), rng.integers(0, 5, n)
    for i, k in enumerate(labels):
        f, a, p = rng.uniform(3, 5), rng.uniform(0, np.pi), rng.uniform(0, 2 * np.pi, 2)
        u, v = xx * np.cos(a) + yy * np.sin(a), -xx * np.sin(a) + yy * np.cos(a)
        if k == 0:
            img = np.sin(2 * np.pi * f * u + p[0])
        elif k == 1:
            img = np.sign(np.sin(2 * np.pi * f * u + p[0]) * np.sin(2 * np.pi * f * v + p[1]))
        elif k == 2:
            img = np.sin(2 * np.pi * f * np.hypot(xx - rng.uniform(0.3, 0.7), yy - rng.uniform(0.3, 0.7)) + p[0])
        elif k == 3:
            img = 2 * np.exp(-((xx - rng.uniform(0.3, 0.7)) ** 2 + (yy - rng.uniform(0.3, 0.7)) ** 2) / 0.04) - 0.5
        else:
            img = rng.normal(0, 1, (16, 16))
        out[i, 0] = img + rng.normal(0, 0.4, (16, 16))
    return torch.from_numpy(out), torch.from_numpy(labels)


def conv(cin, cout, stride=1):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


net = nn.Sequential(conv(1, 16), conv(16, 32, 2), conv(32, 32), conv(32, 48, 2),
                    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.BatchNorm1d(48), nn.Linear(48, 5))
X, Y = textures(2000, 0)
XV, YV = textures(500, 1)
steps = opts.epochs * -(-len(X) // opts.batch)
sgd = torch.optim.SGD(net.parameters(), lr=opts.peak_lr, momentum=0.9, nesterov=True, weight_decay=5e-4)
cycle = torch.optim.lr_scheduler.OneCycleLR(sgd, max_lr=opts.peak_lr, total_steps=steps, pct_start=0.3)
for epoch in range(opts.epochs):
    t0, total = time.time(), 0.0
    net.train()
    for idx in torch.randperm(len(X)).split(opts.batch):
        loss = F.cross_entropy(net(X[idx]), Y[idx])
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        cycle.step()
        total += loss.item() * len(idx)
    net.eval()
    with torch.no_grad():
        out = net(XV)
    print(f"epoch {epoch + 1} lr {sgd.param_groups[0]['lr']:.3f} train {total / len(X):.4f} "
          f"val {F.cross_entropy(out, YV):.4f} acc {(out.argmax(1) == YV).float().mean():.3f} ({time.time() - t0:.1f}s)")
