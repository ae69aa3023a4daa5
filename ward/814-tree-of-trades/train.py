"""Poincare-ball vectors for a tree of occupations (parents near the centre)."""
import torch
from torch import nn

torch.manual_seed(31)
BRANCH, DEPTH = 3, 4


def build_tree():
    parent, level, frontier = [-1], [0], [0]
    for d in range(1, DEPTH + 1):
        nxt = []
        for p in frontier:
            for _ in range(BRANCH):
                parent.append(p)
                level.append(d)
                nxt.append(len(parent) - 1)
        frontier = nxt
    return torch.tensor(parent), torch.tensor(level)


parent, level = build_tree()
N = len(parent)
pairs = torch.stack([torch.arange(1, N), parent[1:]], 1)


class Ball(nn.Module):
    def __init__(self, n, dim=5):
        super().__init__()
        self.z = nn.Embedding(n, dim)
        nn.init.normal_(self.z.weight, std=0.05)

    def distance(self, a, b):
        """2 artanh |(-a) + b| with the Moebius sum"""
        x, y = -self.z(a), self.z(b)
        xy = (x * y).sum(-1, keepdim=True)
        xx = (x * x).sum(-1, keepdim=True)
        yy = (y * y).sum(-1, keepdim=True)
        m = ((1 + 2 * xy + yy) * x + (1 - xx) * y) / (1 + 2 * xy + xx * yy)
        gap = (m.pow(2).sum(-1) + 1e-12).sqrt()
        return 2 * torch.atanh(gap)


ball = Ball(N)
opt = torch.optim.Adam(ball.parameters(), lr=1e-2)
for step in range(1, 401):
    child, par = pairs[torch.randint(0, len(pairs), (64,))].unbind(1)
    others = torch.randint(0, N, (64, 10))
    d_pos = ball.distance(child, par)
    d_neg = ball.distance(child[:, None], others)
    logits = -torch.cat([d_pos[:, None], d_neg], 1)
    loss = nn.functional.cross_entropy(logits, torch.zeros(64, dtype=torch.long))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0 or step == 1:
        r = ball.z.weight.detach().norm(dim=1)
        print(f"step {step:3d} loss {loss.item():.4f} radius of roots {r[level == 1].mean().item():.3f} leaves {r[level == DEPTH].mean().item():.3f}")
