"""Prototypical network: 5-way 5-shot episodes over families of waveforms; validation families are new ones."""
import numpy as np
import torch
import torch.nn as nn

WAYS, SHOTS, QUERIES = 5, 5, 8


def family(rng):
    f = rng.uniform(1, 9, 3)
    a = rng.uniform(0.3, 1.0, 3)
    return f, a


def draw(fam, n, rng):
    f, a = fam
    t = np.linspace(0, 1, 64)[None]
    x = np.zeros((n, 64))
    for k in range(3):
        x += a[k] * rng.uniform(0.8, 1.2, (n, 1)) * np.sin(2 * np.pi * f[k] * t + rng.normal(0, 0.4, (n, 1)))
    return torch.tensor(x + rng.normal(0, 0.25, x.shape), dtype=torch.float32)[:, None]


def episode(pool, rng):
    pick = rng.choice(len(pool), WAYS, replace=False)
    support, query = [], []
    for c in pick:
        rows = rng.choice(len(pool[c]), SHOTS + QUERIES, replace=False)
        support.append(pool[c][rows[:SHOTS]])
        query.append(pool[c][rows[SHOTS:]])
    labels = torch.arange(WAYS).repeat_interleave(QUERIES)
    return torch.cat(support), torch.cat(query), labels


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        layers, c = [], 1
        for width in (24, 32, 48):
            layers += [nn.Conv1d(c, width, 5, padding=2), nn.GroupNorm(4, width), nn.ReLU(), nn.MaxPool1d(2)]
            c = width
        self.net = nn.Sequential(*layers, nn.Flatten(), nn.Linear(48 * 8, 32))

    def forward(self, x):
        return self.net(x)


def logits(net, support, query):
    proto = net(support).view(WAYS, SHOTS, -1).mean(1)
    return -torch.cdist(net(query), proto).pow(2) / 8


rng = np.random.default_rng(77)
torch.manual_seed(77)
train_pool = [draw(family(rng), 40, rng) for _ in range(120)]
valid_pool = [draw(family(rng), 40, rng) for _ in range(30)]
valid_episodes = [episode(valid_pool, rng) for _ in range(60)]
net = Encoder()
opt = torch.optim.Adam(net.parameters(), lr=5e-4, weight_decay=1e-4)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 700)
run = []
for step in range(1, 701):
    net.train()
    support, query, labels = episode(train_pool, rng)
    out = logits(net, support, query)
    loss = nn.functional.cross_entropy(out, labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    run.append((loss.item(), (out.argmax(1) == labels).float().mean().item()))
    if step % 70 == 0:
        net.eval()
        with torch.no_grad():
            res = [(nn.functional.cross_entropy(o, l).item(), (o.argmax(1) == l).float().mean().item())
                   for o, l in ((logits(net, s, q), l) for s, q, l in valid_episodes)]
        (a, b), (c, d) = np.mean(run[-70:], 0), np.mean(res, 0)
        print(f"episode {step:4d} loss {a:.4f} acc {b:.3f} | new families loss {c:.4f} acc {d:.3f}")
