import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)

# water level at a harbour, one value per half hour; gates are operated with a delay of about a day
n = 9000
t = torch.arange(n).float()
surge = torch.zeros(n)
eps = 0.3 * torch.randn(n)
for k in range(2, n):
    surge[k] = 1.6 * surge[k - 1] - 0.65 * surge[k - 2] + eps[k]
surge = surge / surge.std()
gate = torch.roll(surge, 20)
gate[:20] = 0
level = torch.sin(2 * math.pi * t / 24.8) + 0.4 * torch.sin(2 * math.pi * t / 25.8) + 0.3 * surge - 0.9 * gate * (gate > 0) + 0.05 * torch.randn(n)
data = torch.stack([level, surge], 0)
m, s = data[:, :7000].mean(1, keepdim=True), data[:, :7000].std(1, keepdim=True)
data = (data - m) / s


def batches(lo, hi, size, length=128, steps=None):
    """random crops for training (steps given), consecutive crops otherwise"""
    if steps is None:
        starts = list(range(lo, hi - length - 1, length))
        x = torch.stack([data[:, i:i + length] for i in starts])
        y = torch.stack([data[0, i + 1:i + length + 1] for i in starts])
        yield x, y
        return
    for _ in range(steps):
        starts = torch.randint(lo, hi - length - 1, (size,)).tolist()
        yield torch.stack([data[:, i:i + length] for i in starts]), torch.stack([data[0, i + 1:i + length + 1] for i in starts])


class CausalBlock(nn.Module):
    def __init__(self, c, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.conv = nn.Conv1d(c, c, 3, dilation=dilation)
        self.mix = nn.Conv1d(c, c, 1)

    def forward(self, x):
        h = F.gelu(self.conv(F.pad(x, (self.pad, 0))))
        return x + self.mix(h)


class TCN(nn.Module):
    def __init__(self, c=24, levels=4):
        super().__init__()
        self.inp = nn.Conv1d(2, c, 1)
        self.blocks = nn.ModuleList([CausalBlock(c, 2 ** i) for i in range(levels)])
        self.out = nn.Conv1d(c, 1, 1)

    def forward(self, x):
        x = self.inp(x)
        for block in self.blocks:
            h = block(x)
        return self.out(F.gelu(h)).squeeze(1)


WARM = 32  # no score for the first steps of a crop, their history is cut off
net = TCN()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-3)
sch = torch.optim.lr_scheduler.OneCycleLR(opt, 3e-3, total_steps=480)
for rnd in range(12):
    acc = 0.0
    for x, y in batches(0, 7000, 16, steps=40):
        loss = F.smooth_l1_loss(net(x)[:, WARM:], y[:, WARM:])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sch.step()
        acc += loss.item() / 40
    with torch.no_grad():
        x, y = next(batches(7000, n, 1))
        rmse = (net(x) - y)[:, WARM:].pow(2).mean().sqrt().item()
        naive = (x[:, 0] - y)[:, WARM:].pow(2).mean().sqrt().item()
    print(f"round {rnd:2d}  train {acc:.5f}  test rmse {rmse:.4f}  (persistence {naive:.4f})")
