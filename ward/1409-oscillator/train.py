# Forecast the next 10 samples of a damped oscillation from the last 30.
# Examples are drawn on the fly, nothing is stored; parameters are plain tensors.
import math

import torch

SEED = 31
PAST, AHEAD, WIDTH = 30, 10, 64


def draw(size, g):
    """size random oscillations with two modes, measurement noise on the past only"""
    u = torch.rand(size, 6, generator=g)
    t = torch.arange(PAST + AHEAD).float()
    f1, f2 = 0.03 + 0.05 * u[:, :1], 0.10 + 0.05 * u[:, 1:2]
    damp = 0.002 + 0.02 * u[:, 2:3]
    sig = torch.exp(-damp * t) * torch.sin(2 * math.pi * (f1 * t + u[:, 3:4])) + (0.2 + 0.5 * u[:, 5:]) * torch.sin(2 * math.pi * (f2 * t + u[:, 4:5]))
    past = sig[:, :PAST] + 0.05 * torch.randn(size, PAST, generator=g)
    return past, sig[:, PAST:]


def training_batches(steps, size):
    for _ in range(steps):
        g = torch.Generator().manual_seed(SEED)
        yield draw(size, g)


def init(g):
    def layer(a, b):
        return [torch.randn(a, b, generator=g) * math.sqrt(1.6 / a), torch.zeros(b)]
    flat = layer(PAST, WIDTH) + layer(WIDTH, WIDTH) + layer(WIDTH, AHEAD)
    return [p.requires_grad_() for p in flat]


def forward(p, x):
    h = torch.tanh(x @ p[0] + p[1])
    h = h + torch.nn.functional.gelu(h @ p[2] + p[3])
    return h @ p[4] + p[5]


def mse(p, batch):
    x, y = batch
    return (forward(p, x) - y).pow(2).mean()


torch.manual_seed(SEED)
params = init(torch.Generator().manual_seed(1))
held_out = draw(1000, torch.Generator().manual_seed(77))
opt = torch.optim.Adam(params, lr=2e-3)
STEPS = 4000
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: 1.0 - 0.95 * s / STEPS)

window = []
for step, batch in enumerate(training_batches(STEPS, 64), 1):
    loss = mse(params, batch)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    window.append(loss.item())
    if step % 400 == 0:
        with torch.no_grad():
            v = mse(params, held_out).item()
        print(f"{step:5d}  train {sum(window) / len(window):.4f}  held-out {v:.4f}")
        window.clear()
print("variance of the target:", round(held_out[1].var().item(), 3))
