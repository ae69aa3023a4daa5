"""Stateful GRU for a river gauge: 16 parallel stretches of the series are read in order, the hidden state is carried on."""
import numpy as np
import torch
import torch.nn as nn


def gauge(n, rng):
    rain = (rng.random(n) < 0.08) * rng.gamma(1.5, 1.0, n)
    soil, level = 0.0, 0.0
    out = np.empty(n)
    for i in range(n):
        soil += 0.1 * (rain[i] - 0.2 * soil)
        level += 0.25 * (2.5 * soil - level) + 0.3 * rain[i] * (soil > 0.6)
        out[i] = level + 0.6 * np.sin(i / 24 * 2 * np.pi) + rng.normal(0, 0.03)
    return np.stack([np.append(rain[1:], 0.0), out], 1)  # radar gives the rain of the coming hour


class Gauge(nn.Module):
    def __init__(self, hidden=40):
        super().__init__()
        self.rnn = nn.GRU(2, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x, state=None):
        h, state = self.rnn(x, state)
        return x[:, :, 1:] + self.head(h), state


def lanes(series, count):
    length = len(series) // count
    return torch.tensor(series[:length * count], dtype=torch.float32).view(count, length, -1)


rng = np.random.default_rng(3)
torch.manual_seed(3)
series = gauge(24000, rng)
train, valid = series[:20000], series[20000:]
mean, std = train.mean(0), train.std(0)
train, valid = lanes((train - mean) / std, 16), lanes((valid - mean) / std, 4)

STEPS = 25
model = Gauge()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 14)
for epoch in range(14):
    model.train()
    state, total, n = None, 0.0, 0
    for start in range(0, train.shape[1] - STEPS, STEPS):
        x = train[:, start:start + STEPS]
        y = train[:, start + 1:start + STEPS + 1, 1:]
        pred, state = model(x, state)
        state = state.detach()
        loss = nn.functional.mse_loss(pred, y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        total, n = total + loss.item(), n + 1
    sched.step()
    model.eval()
    with torch.no_grad():
        pred, _ = model(valid[:, :-1])
        v = nn.functional.mse_loss(pred, valid[:, 1:, 1:]).item()
        naive = nn.functional.mse_loss(valid[:, :-1, 1:], valid[:, 1:, 1:]).item()
    print(f"epoch {epoch + 1:2d}: train {total / n:.5f} valid {v:.5f} (last value: {naive:.5f})")
