"""Next-character model of Python source (six characters of context), trained with a small Lion optimizer."""
import argparse
import inspect

import torch
import torch.nn as nn
import torch.nn.functional as F


class Lion(torch.optim.Optimizer):
    """Sign of the interpolated momentum, decoupled weight decay."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            lr, wd = group["lr"], group["weight_decay"]
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["exp_avg"] = torch.zeros_like(p)
                avg = state["exp_avg"]
                p.mul_(1 - lr * wd)
                p.add_(torch.sign(avg * beta1 + p.grad * (1 - beta1)), alpha=-lr)
                avg.mul_(beta2).add_(p.grad, alpha=1 - beta2)


class NGram(nn.Module):
    def __init__(self, vocab, context=6, dim=16, hidden=96):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.fc1 = nn.Linear(context * dim, hidden)
        self.fc2 = nn.Linear(hidden, vocab)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(self.emb(x).flatten(1))))


def dataset(context=6):
    text = inspect.getsource(argparse)[:60000]
    chars = sorted(set(text))
    ids = torch.tensor([chars.index(c) for c in text])
    win = ids.unfold(0, context + 1, 1)
    win = win[torch.randperm(len(win))]
    return win[:, :-1], win[:, -1], len(chars)


torch.manual_seed(35)
x, y, vocab = dataset()
n_val, STEPS = 2000, 400
x_val, y_val, x, y = x[:n_val], y[:n_val], x[n_val:], y[n_val:]
model = NGram(vocab)
optimizer = Lion(model.parameters(), lr=3e-3, weight_decay=0.03)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - 0.95 * step / STEPS)
total = 0.0
for step in range(1, STEPS + 1):
    idx = torch.randint(0, len(x), (128,))
    loss = F.cross_entropy(model(x[idx]), y[idx])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    total += loss.item()
    if step % 50 == 0:
        with torch.no_grad():
            val = F.cross_entropy(model(x_val), y_val).item()
        print(f"step {step:4d} | train {total / 50:.3f} | val {val:.3f} nats per char")
        total = 0.0
