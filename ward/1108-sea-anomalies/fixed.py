"""Dilated conv forecaster for sea-surface temperature anomalies, 32 days in, 4 days out."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def anomalies(days, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(days).float()
    slow = torch.sin(2 * math.pi * t / 61) + 0.5 * torch.sin(2 * math.pi * t / 23 + 1.0)
    ar = torch.zeros(days)
    for i in range(1, days):
        ar[i] = 0.9 * ar[i - 1] + 0.15 * torch.randn(1, generator=g)
    x = slow + ar
    return (x - x.mean()) / x.std()


def window_batches(series, batch, shuffle, n_in=32, n_out=4):
    w = series.unfold(0, n_in + n_out, 1)
    order = torch.randperm(len(w)) if shuffle else torch.arange(len(w))
    for idx in order.split(batch):
        yield w[idx, :n_in].unsqueeze(1), w[idx, n_in:]


class CausalBlock(nn.Module):
    def __init__(self, c_in, c_out, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.conv = nn.Conv1d(c_in, c_out, 3, dilation=dilation)
        self.skip = nn.Conv1d(c_in, c_out, 1)

    def forward(self, x):
        return F.relu(self.conv(F.pad(x, (self.pad, 0)))) + self.skip(x)


class TCN(nn.Module):
    def __init__(self, width=24, n_out=4):
        super().__init__()
        self.blocks = nn.ModuleList([CausalBlock(1, width, 1), CausalBlock(width, width, 2), CausalBlock(width, width, 4)])
        self.out = nn.Linear(width, n_out)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.out(x[:, :, -1])


torch.manual_seed(2)
series = anomalies(3200, 5)
past, future = series[:2600], series[2600:]
net = TCN()
opt = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=1e-4)
for epoch in range(1, 7):
    net.train()
    seen, total = 0, 0.0
    for x, y in window_batches(past, 64, True):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        total, seen = total + loss.item() * len(y), seen + len(y)
    net.eval()
    with torch.no_grad():
        val = torch.cat([(net(x) - y) ** 2 for x, y in window_batches(future, 256, False)]).mean().item()
        persist = torch.cat([(x[:, :, -1] - y) ** 2 for x, y in window_batches(future, 256, False)]).mean().item()
    print(f"epoch {epoch}: mse {total / seen:.4f}, future mse {val:.4f} (persistence {persist:.4f})")
