"""Day-ahead electricity load from the last two days. 1-D CNN, micro-batches, EMA weights for evaluation."""
import copy
import math

import torch
import torch.nn as nn

WINDOW, AHEAD = 48, 12


def make_series(hours=24 * 260, seed=4):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(hours).float()
    day = torch.sin(2 * math.pi * t / 24) + 0.4 * torch.sin(4 * math.pi * t / 24 + 1.0)
    weekend = ((t // 24) % 7 >= 5).float()
    weather = torch.zeros(hours)
    for i in range(1, hours):
        weather[i] = 0.97 * weather[i - 1] + 0.12 * torch.randn(1, generator=g).item()
    load = (1.0 - 0.35 * weekend) * day - 0.8 * weekend + weather + 0.1 * torch.randn(hours, generator=g)
    return load, weekend


class Net(nn.Module):
    def __init__(self, ch=24):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(2, ch, 5, stride=2, padding=2), nn.GELU(),
                                  nn.Conv1d(ch, ch, 5, stride=2, padding=2), nn.GELU())
        self.fc = nn.Sequential(nn.Linear(ch * WINDOW // 4, 48), nn.GELU(), nn.Linear(48, AHEAD))

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


class Ema:
    def __init__(self, net, decay=0.97):
        self.net, self.decay = copy.deepcopy(net), decay

    @torch.no_grad()
    def update(self, net):
        for e, p in zip(self.net.parameters(), net.parameters()):
            e.lerp_(p, 1 - self.decay)


def windows(load, weekend, lo, hi):
    starts = torch.arange(lo, hi - WINDOW - AHEAD)
    idx = starts[:, None] + torch.arange(WINDOW)
    nxt = starts[:, None] + WINDOW + torch.arange(AHEAD)
    return torch.stack([load[idx], weekend[idx]], 1), load[nxt]


@torch.no_grad()
def rmse(net, x, y):
    return (net(x) - y).pow(2).mean().sqrt().item()


def train(micro=16, accum=8, epochs=9, lr=0.08):
    load, weekend = make_series()
    cut = 24 * 208
    mean, std = load[:cut].mean(), load[:cut].std()
    load = (load - mean) / std
    xtr, ytr = windows(load, weekend, 0, cut)
    xva, yva = windows(load, weekend, cut, len(load))
    net = Net()
    ema = Ema(net)
    opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
    shape = torch.linspace(1.2, 0.8, AHEAD)  # near hours matter a little more
    updates = 0
    for epoch in range(1, epochs + 1):
        seen, total = 0, 0.0
        opt.zero_grad()
        for i, ids in enumerate(torch.randperm(len(ytr)).split(micro), 1):
            pred = net(xtr[ids])
            fit = (shape * (pred - ytr[ids]) ** 2).mean()
            smooth = 0.05 * ((pred[:, 1:] - pred[:, :-1]) - (ytr[ids][:, 1:] - ytr[ids][:, :-1])).pow(2).mean()
            loss = fit + smooth
            loss.backward()
            total += loss.item()
            seen += 1
            if i % accum == 0:
                opt.step()
                opt.zero_grad()
                ema.update(net)
                updates += 1
        print(f"epoch {epoch} updates {updates} train {total / seen:.4f} val rmse {rmse(net, xva, yva):.4f} (ema {rmse(ema.net, xva, yva):.4f})")


if __name__ == "__main__":
    torch.manual_seed(10)
    train()
