"""Momentum contrast: two recordings of the same event share the content, the room noise differs."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
EVENTS, CONTENT, NOISE = 8, 6, 18
mix = torch.linalg.qr(torch.randn(CONTENT + NOISE, CONTENT + NOISE))[0]
centres = torch.randn(EVENTS, CONTENT) * 1.5


def content(n):
    y = torch.randint(0, EVENTS, (n,))
    return centres[y] + 0.4 * torch.randn(n, CONTENT), y


def record(c):
    return torch.cat([c, 1.5 * torch.randn(len(c), NOISE)], 1) @ mix


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(CONTENT + NOISE, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


pool, y_pool = content(1500)
test, y_test = content(500)
x_pool, x_test = record(pool), record(test)
query = Encoder()
key = copy.deepcopy(query)
for p in key.parameters():
    p.requires_grad_(False)
queue = F.normalize(torch.randn(512, 16), dim=1)
STEPS, B, M, TAU, ptr = 360, 128, 0.95, 0.2, 0
opt = torch.optim.AdamW(query.parameters(), lr=5e-3, weight_decay=1e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, STEPS)


def knn_probe():
    query.eval()
    with torch.no_grad():
        near = (query(x_test) @ query(x_pool).T).topk(5, dim=1).indices
    query.train()
    return (y_pool[near].mode(1).values == y_test).float().mean().item()


print(f"5-nn before {knn_probe():.3f}")
query.train()
key.train()
run = []
for step in range(1, STEPS + 1):
    c = pool[torch.randint(0, len(pool), (B,))]
    q = query(record(c))
    with torch.no_grad():
        for pk, pq in zip(key.parameters(), query.parameters()):
            pk.lerp_(pq, 1 - M)
        k = key(record(c))
    logits = torch.cat([(q * k).sum(1, keepdim=True), q @ queue.T], 1) / TAU
    loss = F.cross_entropy(logits, torch.zeros(B, dtype=torch.long))
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    queue[ptr:ptr + B] = k
    ptr = (ptr + B) % len(queue)
    run.append(loss.item())
    if step % 40 == 0:
        print(f"step {step} contrastive loss {sum(run[-40:]) / 40:.4f} 5-nn {knn_probe():.3f}")
