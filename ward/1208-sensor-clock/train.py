# NO2 at a street corner from the time of the reading and the weather. Plain tensors and functions, no nn.Module.
import math

import torch
import torch.nn.functional as F

torch.manual_seed(2)
START = 1_700_000_000          # unix seconds of the first reading


def readings(n):
    when = START + torch.sort(torch.rand(n, dtype=torch.float64) * 90 * 86400)[0]
    day = (when - START) / (90 * 86400)
    hour = (when % 86400) / 3600
    wind = torch.rand(n) * 8
    temp = 8 + 10 * torch.randn(n)
    traffic = 300 + 250 * torch.sin((hour - 7) / 24 * 2 * math.pi).float() + 60 * torch.randn(n)
    no2 = 1.2 * (traffic / 300) - 0.22 * wind + 0.9 * day.float() + 0.15 * torch.randn(n)
    table = torch.stack([when.float(), torch.sin(hour / 24 * 2 * math.pi).float(), torch.cos(hour / 24 * 2 * math.pi).float(),
                         wind, temp, traffic], 1)
    return table, (no2 - no2.mean()) / no2.std()


def init(sizes):
    params = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        w = torch.randn(b, a) * math.sqrt(2 / a)
        params.append((w.requires_grad_(), torch.zeros(b, requires_grad=True)))
    return params


def predict(params, x):
    for w, b in params[:-1]:
        x = F.relu(F.linear(x, w, b))
    w, b = params[-1]
    return F.linear(x, w, b).squeeze(1)


x, y = readings(2400)
perm = torch.randperm(len(x))
x, y = x[perm], y[perm]
x_train, y_train, x_test, y_test = x[:1900], y[:1900], x[1900:], y[1900:]

params = init([6, 32, 32, 1])
opt = torch.optim.Adam([t for pair in params for t in pair], lr=3e-3)
for epoch in range(1, 9):
    total = 0.0
    order = torch.randperm(len(x_train))
    for i in range(0, len(order), 38):
        rows = order[i:i + 38]
        loss = F.mse_loss(predict(params, x_train[rows]), y_train[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(rows)
    with torch.no_grad():
        test = F.mse_loss(predict(params, x_test), y_test).item()
    print(f"epoch {epoch:2d}   train mse {total / len(x_train):.5g}   test mse {test:.5g}")
