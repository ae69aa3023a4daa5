import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(10)


class Dense(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        k = math.sqrt(6.0 / n_in)
        self.weight = nn.Parameter((2 * torch.rand(n_out, n_in) - 1) * k)
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        return x @ self.weight.t() + self.bias


class ParcelNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1 = Dense(10, 40)
        self.d2 = Dense(40, 40)
        self.d3 = Dense(40, 5)

    def forward(self, x):
        x = F.relu(self.d1(x))
        x = F.relu(self.d2(x))
        return self.d3(x)


def parcels(n):
    """ten light-curtain readings in [0, 1] -> shipping class 0..4"""
    lwh = torch.rand(n, 3)
    reading = torch.cat([lwh, lwh.prod(1, keepdim=True), lwh[:, :2] * lwh[:, 1:], torch.rand(n, 4)], 1)
    reading = (reading + 0.01 * torch.randn(n, 10)).clamp(0, 1)
    girth = lwh[:, 0] + 2 * lwh[:, 1] + 2 * lwh[:, 2]
    cls = torch.bucketize(girth, torch.tensor([1.6, 2.2, 2.8, 3.4]))
    return reading, cls


x, y = parcels(2500)
xv, yv = parcels(600)
net = ParcelNet()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=14 * 50)
for epoch in range(14):
    s = 0
    for b in torch.randperm(2500).split(50):
        loss = F.cross_entropy(net(x[b]), y[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        s += loss.item() / 50
    with torch.no_grad():
        o = net(xv)
    print(f"epoch {epoch:2d}: loss {s:.4f}, val {F.cross_entropy(o, yv):.4f}, acc {(o.argmax(1) == yv).float().mean():.3f}")
