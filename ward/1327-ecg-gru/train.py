"""Beat type from a short ECG-like strip (GRU over time).  Homework 4."""
import math
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import Dataset, DataLoader


class Beats(Dataset):
    """Synthetic strips; `jitter` draws a new crop, gain and noise each time a strip is read."""

    classes = ("normal", "early", "wide", "notched")

    def __init__(self, n, seed, jitter=False):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(len(self.classes), (n,), generator=g)
        t = torch.linspace(0, 1, 72)
        strips = []
        for k in self.y.tolist():
            a = torch.rand(6, generator=g)
            c = 0.5 + 0.16 * (a[0] - 0.5) - (0.09 if k == 1 else 0)
            w = 0.022 + 0.012 * a[1] + (0.018 if k == 2 else 0)
            s = (0.8 + 0.5 * a[2]) * torch.exp(-((t - c) / w) ** 2)
            s = s + 0.25 * torch.exp(-((t - 0.27) / 0.035) ** 2) + 0.3 * torch.exp(-((t - c - 0.24) / 0.05) ** 2)
            if k == 3:
                s = s - 0.35 * torch.exp(-((t - c - 0.035) / 0.02) ** 2)
            s = s + 0.25 * torch.sin(2 * math.pi * (a[3] * 2 * t + a[4]))
            strips.append(s + 0.09 * torch.randn(72, generator=g))
        self.x = (torch.stack(strips) - 0.12) / 0.33
        self.jitter = jitter

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        s = self.x[i]
        start = 4
        if self.jitter:
            start = int(torch.randint(0, 9, ()))
            s = s * (0.85 + 0.3 * torch.rand(())) + 0.3 * torch.randn(()) + 0.15 * torch.randn(72)
        return s[start:start + 64].view(16, 4), self.y[i]


class Net(nn.Module):
    def __init__(self, hidden=64, p=0.0):
        super().__init__()
        self.rnn = nn.GRU(4, hidden, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(p)
        self.fc = nn.Linear(2 * hidden, 4)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.fc(self.drop(out.mean(1)))


torch.manual_seed(2)
train = DataLoader(Beats(240, seed=1), batch_size=16, shuffle=True)
val = DataLoader(Beats(500, seed=2), batch_size=250)
net = Net()
optim = torch.optim.Adam(net.parameters(), lr=5e-3)

for epoch in range(72):
    net.train()
    tl = []
    for x, y in train:
        loss = F.cross_entropy(net(x), y)
        optim.zero_grad()
        loss.backward()
        optim.step()
        tl.append(loss.item())
    if epoch % 6 == 5:
        net.eval()
        with torch.no_grad():
            o = torch.cat([net(x) for x, _ in val])
            t = torch.cat([y for _, y in val])
        print(f"{epoch + 1:3d} train {sum(tl) / len(tl):.3f} | val {F.cross_entropy(o, t):.3f} acc {(o.argmax(1) == t).float().mean():.3f}")
