"""Snapshot ensembles (Huang et al. 2017): one run, three minima, averaged."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts

CYCLE, CYCLES, BATCH = 10, 3, 50
torch.manual_seed(10)
bunch = load_digits()
Xtr, Xva, ytr, yva = train_test_split(bunch.images / 16.0, bunch.target, test_size=0.25, stratify=bunch.target, random_state=10)
Xtr, Xva = (torch.tensor(a).float().unsqueeze(1) - 0.3 for a in (Xtr, Xva))
ytr, yva = torch.tensor(ytr), torch.tensor(yva)


def jitter(x):
    pad = F.pad(x, (1, 1, 1, 1), value=-0.3)
    dy, dx = torch.randint(0, 3, (2,)).tolist()
    return pad[:, :, dy:dy + 8, dx:dx + 8] + 0.05 * torch.randn_like(x)


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU())


net = nn.Sequential(conv(1, 24), conv(24, 24), nn.MaxPool2d(2), conv(24, 48), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(192, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=5e-4)
sched = CosineAnnealingWarmRestarts(opt, T_0=CYCLE)
per_epoch = -(-len(ytr) // BATCH)
snapshots = []
for epoch in range(CYCLE * CYCLES):
    net.train()
    tot = 0.0
    for i, b in enumerate(torch.randperm(len(ytr)).split(BATCH)):
        loss = F.cross_entropy(net(jitter(Xtr[b])), ytr[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step(epoch + (i + 1) / per_epoch)
        tot += loss.item() * len(b)
    net.eval()
    with torch.no_grad():
        out = net(Xva)
    print(f"{epoch + 1:2d} lr={opt.param_groups[0]['lr']:.4f} train={tot / len(ytr):.4f} val={F.cross_entropy(out, yva):.4f} acc={(out.argmax(1) == yva).float().mean():.4f}")
    if (epoch + 1) % CYCLE == 0:
        snapshots.append(copy.deepcopy(net))
with torch.no_grad():
    mean = sum(s(Xva).softmax(1) for s in snapshots) / len(snapshots)
print(f"ensemble of {len(snapshots)} snapshots: acc {(mean.argmax(1) == yva).float().mean():.4f}")
