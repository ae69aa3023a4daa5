"""Spot the few intrusion attempts in streams of system events (one stream = 24 event ids)."""
import random
from collections import Counter

import torch
import torch.nn as nn

EVENTS = ["login", "logout", "read", "write", "exec", "fail", "sudo", "net", "cron", "mount", "ping", "scan", "chmod", "kill", "fork", "sleep"]
ATTACKS = [("fail", "fail", "sudo"), ("scan", "net", "exec"), ("chmod", "exec", "net")]
ID = {e: i for i, e in enumerate(EVENTS)}


def stream(rnd):
    ev = [rnd.choice(EVENTS) for _ in range(24)]
    attack = rnd.random() < 0.04
    if attack:
        at = rnd.randrange(0, 22)
        ev[at:at + 3] = rnd.choice(ATTACKS)
    else:  # ordinary streams hold none of the three patterns
        for k in range(22):
            while tuple(ev[k:k + 3]) in ATTACKS:
                ev[k + 2] = rnd.choice(EVENTS)
    return [ID[e] for e in ev], int(attack)


def load(n, seed):
    rnd = random.Random(seed)
    rows = [stream(rnd) for _ in range(n)]
    return torch.tensor([r[0] for r in rows]), torch.tensor([r[1] for r in rows])


class Spotter(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(len(EVENTS), 16)
        self.conv = nn.Conv1d(16, 48, 3)
        self.mix = nn.Linear(48, 24)
        self.out = nn.Linear(24, 2)

    def forward(self, x):
        h = torch.relu(self.conv(self.emb(x).transpose(1, 2))).amax(2)
        return self.out(torch.relu(self.mix(h)))


def scores(model, x, y):
    with torch.no_grad():
        out = model(x)
    p = out.argmax(1)
    tp = ((p == 1) & (y == 1)).sum().item()
    prec, rec = tp / max(1, (p == 1).sum().item()), tp / max(1, (y == 1).sum().item())
    return nn.functional.cross_entropy(out, y).item(), prec, rec


torch.manual_seed(71)
x, y = load(12000, 1)
xv, yv = load(4000, 2)
print("train", Counter(y.tolist()), "val", Counter(yv.tolist()))
model = Spotter()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
EPOCHS = 8
sched = torch.optim.lr_scheduler.OneCycleLR(opt, 4e-3, total_steps=EPOCHS * 188)
for epoch in range(EPOCHS):
    tot = 0.0
    for idx in torch.randperm(len(y)).split(64):
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        tot += loss.item() * len(idx)
    vl, prec, rec = scores(model, xv, yv)
    print(f"{epoch:2d}: train {tot / len(y):.4f} val {vl:.4f} precision {prec:.3f} recall {rec:.3f}")
