"""Transformer forecaster: the next six hours of a tide gauge from the last twenty-four."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(14)
PAST, AHEAD, DIM, HEADS = 24, 6, 32, 4


def tide(hours, g):
    t = torch.arange(hours, dtype=torch.float32)
    parts = [(1.0, 12.42), (0.45, 12.0), (0.3, 23.93), (0.25, 25.82)]
    level = sum(a * torch.cos(2 * math.pi * t / p + torch.rand(1, generator=g) * 6.28) for a, p in parts)
    return level + 0.1 * torch.randn(hours, generator=g)


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.size = heads, dim // heads
        self.q, self.k, self.v = (nn.Linear(dim, dim) for _ in range(3))
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        results = []
        for b in range(x.shape[0]):
            per_head = []
            for h in range(self.heads):
                cols = slice(h * self.size, (h + 1) * self.size)
                scores = q[b, :, cols] @ k[b, :, cols].T / math.sqrt(self.size)
                per_head.append(torch.softmax(scores, dim=-1) @ v[b, :, cols])
            results.append(torch.cat(per_head, dim=-1))
        return self.out(torch.stack(results))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.att = Attention(DIM, HEADS)
        self.ff = nn.Sequential(nn.Linear(DIM, 64), nn.GELU(), nn.Linear(64, DIM))

    def forward(self, x):
        x = x + self.att(self.n1(x))
        return x + self.ff(self.n2(x))


class Forecaster(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.inp = nn.Linear(1, DIM)
        self.pos = nn.Parameter(torch.randn(PAST, DIM) * 0.1)
        self.layers = nn.Sequential(*[Layer() for _ in range(layers)])
        self.out = nn.Sequential(nn.LayerNorm(DIM), nn.Flatten(), nn.Linear(PAST * DIM, AHEAD))

    def forward(self, x):
        return self.out(self.layers(self.inp(x[..., None]) + self.pos))


g = torch.Generator().manual_seed(2)
series = tide(2600, g)
windows = series.unfold(0, PAST + AHEAD, 1)
train, valid = windows[:2000], windows[2000 + PAST + AHEAD:]

model = Forecaster()
EPOCHS, BATCH = 4, 40
optim = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4)
sched = torch.optim.lr_scheduler.OneCycleLR(optim, max_lr=2e-3, total_steps=EPOCHS * math.ceil(len(train) / BATCH))
print("variance of the level", round(series.var().item(), 3))
for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for ids in torch.randperm(len(train)).split(BATCH):
        batch = train[ids]
        loss = F.mse_loss(model(batch[:, :PAST]), batch[:, PAST:])
        optim.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optim.step()
        sched.step()
        total += loss.item() * len(ids)
    model.eval()
    with torch.no_grad():
        mse = F.mse_loss(model(valid[:, :PAST]), valid[:, PAST:]).item()
    print(f"epoch {epoch + 1} train mse {total / len(train):.4f} valid mse {mse:.4f}")
