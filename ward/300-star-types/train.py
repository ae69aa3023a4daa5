# photometric star typing, 7 spectral types (O B A F G K M) from 5-band magnitudes
import math
import torch
import torch.nn as nn

torch.manual_seed(71)
TYPES = "OBAFGKM"


def make_catalogue(n):
    kind = torch.randint(0, 7, (n,))
    temp = 4.6 - 0.17 * kind.float() + 0.025 * torch.randn(n)          # log10 T
    dust = 0.25 * torch.rand(n)
    bands = []
    for lam in (0.36, 0.44, 0.55, 0.65, 0.8):
        flux = -2.5 * torch.log10(1.0 / (torch.exp(1.44 / (lam * 10 ** (temp - 4))) - 1))
        bands.append(flux + dust / lam + 0.02 * torch.randn(n))
    mags = torch.stack(bands, 1)
    colours = mags[:, :-1] - mags[:, 1:]
    return torch.cat([colours, mags[:, 2:3] - mags[:, 4:5]], 1), kind


class StarNet(nn.Module):
    def __init__(self, n_in=5, width=48):
        super().__init__()
        self.l1 = nn.Linear(n_in, width)
        self.l2 = nn.Linear(width, width)
        self.l3 = nn.Linear(width, len(TYPES))

    def forward(self, x):
        h = torch.tanh(self.l1(x))
        h = torch.tanh(self.l2(h))
        z = self.l3(h)
        e = torch.exp(z - z.max(dim=1, keepdim=True).values)
        return e / e.sum(dim=1, keepdim=True)


x, y = make_catalogue(2400)
xt, yt = make_catalogue(800)
mu, sd = x.mean(0), x.std(0)
x, xt = (x - mu) / sd, (xt - mu) / sd

net = StarNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.9)

for epoch in range(1, 21):
    running, seen = 0.0, 0
    for idx in torch.randperm(len(x)).split(60):
        optimizer.zero_grad()
        out = net(x[idx])
        loss = criterion(out, y[idx])
        loss.backward()
        optimizer.step()
        running += loss.item() * len(idx)
        seen += len(idx)
    with torch.no_grad():
        out = net(xt)
        val = criterion(out, yt).item()
        acc = (out.argmax(1) == yt).float().mean().item()
    print("epoch %2d  train loss %.4f  test loss %.4f  test acc %.3f" % (epoch, running / seen, val, acc))
