# Delivery times: promise a time that 90 % of the parcels keep.
import math

import torch
from torch import nn
from torch.nn import functional as F

Q = 0.9


def parcels(n, g):
    km = torch.rand(n, generator=g) * 40
    kg = torch.rand(n, generator=g) * 20
    hour = torch.rand(n, generator=g) * 24
    depot = torch.randint(0, 8, (n,), generator=g)
    weather = torch.randint(0, 3, (n,), generator=g)
    speed = torch.tensor([0.7, 0.9, 1.0, 1.1, 1.2, 0.8, 1.4, 1.0])[depot]
    rush = torch.exp(-(hour - 17) ** 2 / 8) + torch.exp(-(hour - 8) ** 2 / 6)
    base = 0.4 + 0.05 * km / speed + 0.6 * rush + 0.02 * kg + torch.tensor([0.0, 0.3, 1.0])[weather]
    late = -torch.log(torch.rand(n, generator=g)) * (0.15 + 0.01 * km)
    num = torch.stack([km / 20 - 1, kg / 10 - 1, torch.sin(hour / 12 * math.pi), torch.cos(hour / 12 * math.pi),
                       torch.sin(hour / 6 * math.pi), torch.cos(hour / 6 * math.pi)], 1)
    return num, torch.stack([depot, weather], 1), base + late


def build():
    def mat(i, o):
        return nn.Parameter(torch.randn(i, o) * math.sqrt(2 / i))
    return nn.ParameterDict({
        "depot": nn.Parameter(torch.randn(8, 4) * 0.3), "weather": nn.Parameter(torch.randn(3, 2) * 0.3),
        "w1": mat(12, 48), "b1": nn.Parameter(torch.zeros(48)),
        "w2": mat(48, 48), "b2": nn.Parameter(torch.zeros(48)),
        "w3": mat(48, 1), "b3": nn.Parameter(torch.zeros(1)),
    })


def predict(p, num, cat):
    x = torch.cat([num, p["depot"][cat[:, 0]], p["weather"][cat[:, 1]]], dim=1)
    h = F.silu(x @ p["w1"] + p["b1"])
    h = F.silu(h @ p["w2"] + p["b2"])
    return h @ p["w3"] + p["b3"]


def pinball(pred, hours):
    miss = hours - pred
    return torch.maximum(Q * miss, (Q - 1) * miss).mean()


torch.manual_seed(2)
gen = torch.Generator().manual_seed(99)
num, cat, hours = parcels(6000, gen)
vnum, vcat, vhours = parcels(1500, gen)
params = build()
opt = torch.optim.Adam(params.parameters(), lr=2e-3)
for epoch in range(30):
    total = 0.0
    for rows in torch.randperm(len(hours)).split(100):
        loss = pinball(predict(params, num[rows], cat[rows]), hours[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() / 60
    if epoch % 3 == 2:
        with torch.no_grad():
            promise = predict(params, vnum, vcat).flatten()
            kept = (vhours <= promise).float().mean()
            slack = (promise - vhours).abs().mean()
            corr = torch.corrcoef(torch.stack([promise, vhours]))[0, 1]
        print(f"{epoch + 1:3d} pinball {total:.4f}   kept {kept:.3f}   mean slack {slack:.3f} h   corr {corr:.3f}")
