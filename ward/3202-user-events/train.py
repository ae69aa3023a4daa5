"""Will the customer renew?  A profile vector plus a variable-length list of events per user."""
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    n_train: int = 12000
    n_valid: int = 1500
    max_events: int = 12
    dim: int = 16
    batch: int = 64
    epochs: int = 14
    lr: float = 3e-3


cfg = Config()
torch.manual_seed(5)
g = torch.Generator().manual_seed(77)


def make_users(n):
    profile = torch.randn(n, 6, generator=g)
    length = torch.randint(1, cfg.max_events + 1, (n,), generator=g)
    length[torch.rand(n, generator=g) < 0.07] = 0          # newcomers
    events = torch.randn(n, cfg.max_events, 5, generator=g)     # amount, hour, channel, delay, discount (standardised)
    empty = torch.arange(cfg.max_events) >= length[:, None]
    events[empty] = 0
    value = torch.sin(2 * events[..., 0]) * events[..., 2] + (events[..., 1] * events[..., 3]).tanh()
    weight = torch.sigmoid(3 * events[..., 4]).masked_fill(empty, 0)
    score = 0.4 * profile[:, 0] - 0.3 * profile[:, 1] + 2.2 * (weight * value).sum(1) / weight.sum(1).clamp(min=1e-6)
    return profile, events, empty, (score > 0).float()


class EventEncoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.ff = nn.Sequential(nn.Linear(5, 64), nn.GELU(), nn.Linear(64, cfg.dim), nn.GELU())
        self.score = nn.Linear(cfg.dim, 1)

    def forward(self, events, empty):
        h = self.ff(events)
        s = self.score(h).squeeze(-1).masked_fill(empty, float("-inf"))
        a = torch.softmax(s, dim=1)
        return torch.nan_to_num((a.unsqueeze(-1) * h).sum(1))


class RenewalNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.events = EventEncoder(cfg)
        self.head = nn.Sequential(nn.Linear(cfg.dim + 6, 48), nn.GELU(), nn.Linear(48, 1))

    def forward(self, profile, events, empty):
        return self.head(torch.cat([profile, self.events(events, empty)], 1)).squeeze(1)


def clean_gradients(module):
    for p in module.parameters():
        if p.grad is not None:
            torch.nan_to_num(p.grad, nan=0.0, posinf=1e5, neginf=-1e5, out=p.grad)


train, valid = make_users(cfg.n_train), make_users(cfg.n_valid)
net = RenewalNet(cfg)
opt = torch.optim.Adam(net.parameters(), lr=cfg.lr)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, cfg.epochs)

for epoch in range(cfg.epochs):
    net.train()
    running = 0.0
    for b in torch.randperm(cfg.n_train).split(cfg.batch):
        profile, events, empty, y = (t[b] for t in train)
        loss = F.binary_cross_entropy_with_logits(net(profile, events, empty), y)
        opt.zero_grad()
        loss.backward()
        clean_gradients(net)
        opt.step()
        running += loss.item() * len(b)
    sched.step()
    net.eval()
    with torch.no_grad():
        out = net(*valid[:3])
        vl = F.binary_cross_entropy_with_logits(out, valid[3]).item()
        acc = ((out > 0).float() == valid[3]).float().mean().item()
    print(f"epoch {epoch:2d} | bce {running / cfg.n_train:.4f} | valid bce {vl:.4f} | valid acc {acc:.3f}")
