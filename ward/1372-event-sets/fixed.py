"""Will a customer cancel? Each customer is a set of support events (type, age, length), pooled by a small DeepSets net."""
import math
import numpy as np
import torch
from torch import nn


def make_customers(n, rng):
    plan = rng.integers(0, 4, n)
    months = rng.exponential(14, n)
    rows = []
    for i in range(n):
        k = min(rng.poisson(2.6), 8)
        kind = rng.integers(0, 6, k)
        age = rng.exponential(1.0, k)
        mins = rng.normal(0, 1, k)
        pain = (np.array([1.6, 0.9, 0.0, -0.6, -1.2, 0.4])[kind] * np.exp(-0.4 * age) * (1 + 0.3 * mins)).mean() if k else -0.3
        z = 2.2 * pain + np.array([0.8, 0.1, -0.4, -0.9])[plan[i]] - 0.03 * (months[i] - 14)
        y = float(z + rng.logistic(0, 0.5) > 0)
        rows.append((kind, age, mins, math.log1p(months[i]), plan[i], y))
    return rows


def pack(rows, width=8):
    b = len(rows)
    kind = torch.zeros(b, width, dtype=torch.long)
    nums = torch.zeros(b, width, 2)
    mask = torch.zeros(b, width)
    for i, (k, age, mins, *_) in enumerate(rows):
        m = len(k)
        kind[i, :m] = torch.from_numpy(k)
        nums[i, :m, 0] = torch.from_numpy(age).float() - 1
        nums[i, :m, 1] = torch.from_numpy(mins).float()
        mask[i, :m] = 1
    tenure = torch.tensor([r[3] for r in rows], dtype=torch.float32) - 2.3
    plan = torch.tensor(np.array([r[4] for r in rows]))
    return dict(kind=kind, nums=nums, mask=mask, tenure=tenure, plan=plan, y=torch.tensor([r[5] for r in rows]))


class SetNet(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.kind = nn.Embedding(6, 8)
        self.plan = nn.Embedding(4, 4)
        self.phi = nn.Sequential(nn.Linear(10, dim), nn.ReLU(), nn.Linear(dim, dim), nn.ReLU())
        self.rho = nn.Sequential(nn.Linear(dim + 5, dim), nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, b):
        h = self.phi(torch.cat([self.kind(b["kind"]), b["nums"]], -1)) * b["mask"].unsqueeze(-1)
        pooled = h.sum(1) / b["mask"].sum(1, keepdim=True).clamp(min=1)
        return self.rho(torch.cat([pooled, self.plan(b["plan"]), b["tenure"].unsqueeze(1)], 1)).squeeze(1)


def take(data, idx):
    return {k: v[idx] for k, v in data.items()}


torch.manual_seed(50)
rng = np.random.default_rng(50)
train, test = pack(make_customers(3000, rng)), pack(make_customers(1000, rng))
net = SetNet()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
bce = nn.BCEWithLogitsLoss(reduction="none")
history = []
for epoch in range(16):
    for idx in torch.randperm(3000).split(64):
        batch = take(train, idx)
        loss = bce(net(batch), batch["y"]).nanmean()
        optimizer.zero_grad()
        loss.backward()
        for p in net.parameters():          # as in StyleGAN2-ADA's training loop
            torch.nan_to_num(p.grad, nan=0.0, posinf=1e5, neginf=-1e5, out=p.grad)
        optimizer.step()
        history.append(loss.item())
    if epoch % 4 == 3:
        with torch.no_grad():
            out = net(test)
        hit = ((out > 0).float() == test["y"]).float().mean().item()
        print(f"epoch {epoch + 1:2d}  loss {np.mean(history):.4f}  test accuracy {hit:.3f}  (share of cancellers {test['y'].mean():.3f})")
        history.clear()
