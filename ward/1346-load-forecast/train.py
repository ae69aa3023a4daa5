# electricity load, next-hour forecast over three days of hourly history, own recurrent cell
import math
import torch
import torch.nn as nn

torch.manual_seed(12)


def make_load(hours=6000):
    t = torch.arange(hours).float()
    daily = torch.sin(2 * math.pi * t / 24 - 1.0) + 0.4 * torch.sin(4 * math.pi * t / 24)
    weekend = ((t // 24) % 7 >= 5).float()
    temp = torch.zeros(hours)
    for i in range(1, hours):
        temp[i] = 0.98 * temp[i - 1] + 0.2 * torch.randn(1)
    load = daily * (1 - 0.4 * weekend) + 0.5 * temp.abs() + 0.1 * torch.randn(hours)
    feats = torch.stack([load, temp, weekend], 1)
    return (feats - feats.mean(0)) / feats.std(0)


series = make_load()
T = 72
split = 4800


def windows(lo, hi):
    starts = torch.arange(lo, hi - T - 1, 3)
    idx = starts[:, None] + torch.arange(T)
    return series[idx], series[idx + 1][..., 0]


Xtr, Ytr = windows(0, split)
Xva, Yva = windows(split, len(series))


class ReluCell(nn.Module):
    def __init__(self, n_in, n_hid):
        super().__init__()
        self.inp = nn.Linear(n_in, n_hid)
        self.rec = nn.Linear(n_hid, n_hid, bias=False)
        nn.init.normal_(self.inp.weight, std=0.03)
        nn.init.zeros_(self.inp.bias)
        nn.init.eye_(self.rec.weight)

    def forward(self, x, h):
        return torch.relu(self.inp(x) + self.rec(h))


class Forecaster(nn.Module):
    def __init__(self, n_hid=32):
        super().__init__()
        self.n_hid = n_hid
        self.cell = ReluCell(3, n_hid)
        self.head = nn.Linear(n_hid, 1)

    def forward(self, x):
        h = x.new_zeros(len(x), self.n_hid)
        ys = []
        for t in range(x.shape[1]):
            h = self.cell(x[:, t], h)
            ys.append(self.head(h))
        return torch.cat(ys, 1)


model = Forecaster()
opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
for epoch in range(12):
    order = torch.randperm(len(Xtr))
    run = 0.0
    for b in order.split(64):
        pred = model(Xtr[b])
        loss = ((pred - Ytr[b]) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        run += loss.item() * len(b)
    with torch.no_grad():
        val = ((model(Xva) - Yva) ** 2).mean().item()
    print("epoch %2d   train mse %.4f   val mse %.4f" % (epoch, run / len(order), val))
