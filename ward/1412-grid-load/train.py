"""Hour-ahead load of a small grid: stateful GRU, trained along the calendar with truncated backprop."""
import math

import torch
import torch.nn as nn


def simulate(hours, regions, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(hours).float().unsqueeze(1)
    size = 0.8 + 0.4 * torch.rand(1, regions, generator=g)
    phase = 0.6 * torch.rand(1, regions, generator=g)
    day = torch.sin(2 * math.pi * t / 24 + phase) + 0.4 * torch.sin(4 * math.pi * t / 24 + 2 * phase)
    week = -0.6 * ((t // 24) % 7 >= 5).float()
    weather = torch.zeros(hours, regions)
    eps = torch.randn(hours, regions, generator=g)
    for i in range(1, hours):
        weather[i] = 0.97 * weather[i - 1] + 0.24 * eps[i]
    load = size * (day + week + 0.5 * weather) + 0.1 * torch.randn(hours, regions, generator=g)
    clock = torch.stack([torch.sin(2 * math.pi * t / 24), torch.cos(2 * math.pi * t / 24), ((t // 24) % 7 >= 5).float()], -1)
    feats = torch.cat([load.unsqueeze(-1), weather.unsqueeze(-1), clock.expand(hours, regions, 3)], -1)
    return feats, load


class LoadGRU(nn.Module):
    def __init__(self, n_in=5, hidden=32):
        super().__init__()
        self.gru = nn.GRU(n_in, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x, h=None):
        z, h = self.gru(x, h)
        return x[..., 0] + self.out(z).squeeze(-1), h


torch.manual_seed(0)
HOURS, CHUNK = 24 * 7 * 30, 48
feats, load = simulate(HOURS, regions=16, seed=5)
x, y = feats[:-1], load[1:]
cut = 24 * 7 * 24                      # 24 weeks to learn from, the last 6 for validation
mu, sd = load[:cut].mean(), load[:cut].std()
x = x.clone()
x[..., 0] = (x[..., 0] - mu) / sd
y = (y - mu) / sd

net = LoadGRU()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 12)
naive = ((y[cut:] - x[cut:, :, 0]) ** 2).mean().item()
print("persistence mse on validation weeks %.4f" % naive)
for epoch in range(12):
    net.train()
    h, losses = None, []
    for s in range(0, cut, CHUNK):     # week after week, the state is carried on
        pred, h = net(x[s:s + CHUNK], h)
        loss = ((pred - y[s:s + CHUNK]) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        opt.step()
        h = h.detach()
        losses.append(loss.item())
    sched.step()
    net.eval()
    with torch.no_grad():
        pred, _ = net(x[cut:], h)
        val = ((pred - y[cut:]) ** 2).mean().item()
    print(f"epoch {epoch + 1:2d} train mse {sum(losses) / len(losses):.4f} val mse {val:.4f}")
