import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

torch.manual_seed(0)
CFG = dict(meta_steps=600, tasks=10, shots=10, inner_lr=0.05, inner_steps=1, outer_lr=5e-3, width=40)


def sample_tasks(n, shots):
    amp = 0.5 + 2.5 * torch.rand(n, 1, 1)
    phase = math.pi * torch.rand(n, 1, 1)
    x = torch.rand(n, 2 * shots, 1) * 8 - 4
    y = amp * torch.sin(x + phase)
    return (x[:, :shots], y[:, :shots]), (x[:, shots:], y[:, shots:])


class Regressor(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x)


def adapt(model, params, x, y, lr, steps, create_graph):
    for _ in range(steps):
        loss = F.mse_loss(functional_call(model, params, (x,)), y)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=create_graph)
        params = {name: p - lr * g for (name, p), g in zip(params.items(), grads)}
    return params


def evaluate(model, cfg, n=40, steps=5):
    (xs, ys), (xq, yq) = sample_tasks(n, cfg["shots"])
    before = after = 0.0
    for i in range(n):
        params = {k: v.detach().requires_grad_(True) for k, v in model.named_parameters()}
        with torch.no_grad():
            before += F.mse_loss(functional_call(model, params, (xq[i],)), yq[i]).item() / n
        params = adapt(model, params, xs[i], ys[i], cfg["inner_lr"], steps, False)
        with torch.no_grad():
            after += F.mse_loss(functional_call(model, params, (xq[i],)), yq[i]).item() / n
    return before, after


def main(cfg):
    model = Regressor(cfg["width"])
    outer = torch.optim.Adam(model.parameters(), lr=cfg["outer_lr"])
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(outer, cfg["meta_steps"])
    running = 0.0
    for step in range(1, cfg["meta_steps"] + 1):
        (xs, ys), (xq, yq) = sample_tasks(cfg["tasks"], cfg["shots"])
        meta_loss = 0.0
        for i in range(cfg["tasks"]):
            fast = adapt(model, dict(model.named_parameters()), xs[i], ys[i], cfg["inner_lr"], cfg["inner_steps"], True)
            meta_loss = meta_loss + F.mse_loss(functional_call(model, fast, (xq[i],)), yq[i])
        meta_loss = meta_loss / cfg["tasks"]
        outer.zero_grad()
        meta_loss.backward()
        outer.step()
        schedule.step()
        running += meta_loss.item()
        if step % 50 == 0:
            before, after = evaluate(model, cfg)
            print(f"step {step:4d} meta loss {running / 50:.3f} | new waves: before {before:.3f} after 5 steps {after:.3f}")
            running = 0.0


main(CFG)
