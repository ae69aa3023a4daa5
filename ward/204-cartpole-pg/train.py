"""REINFORCE on a small vectorised cart-pole."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
N, HORIZON, GAMMA = 32, 100, 0.98


def physics(s, a):
    x, xd, th, thd = s.unbind(1)
    force = (a * 2 - 1) * 10.0
    cos, sin = th.cos(), th.sin()
    tmp = (force + 0.05 * thd ** 2 * sin) / 1.1
    thacc = (9.8 * sin - cos * tmp) / (0.5 * (4 / 3 - 0.1 * cos ** 2 / 1.1))
    xacc = tmp - 0.05 * thacc * cos / 1.1
    return torch.stack([x + 0.02 * xd, xd + 0.02 * xacc, th + 0.02 * thd, thd + 0.02 * thacc], 1)


@torch.no_grad()
def rollout(policy):
    s = (torch.rand(N, 4) - 0.5) * 0.1
    alive = torch.ones(N)
    S, A, M = [], [], []
    for _ in range(HORIZON):
        a = torch.bernoulli(policy(s).sigmoid()[:, 0])
        S.append(s)
        A.append(a)
        M.append(alive)
        s = physics(s, a)
        alive = alive * ((s[:, 0].abs() < 2.4) & (s[:, 2].abs() < 0.21)).float()
        if alive.sum() == 0:
            break
    return torch.stack(S), torch.stack(A), torch.stack(M)


policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(policy.parameters(), lr=0.015)

for it in range(1, 50):
    S, A, mask = rollout(policy)
    ret, G = torch.zeros_like(mask), torch.zeros(N)
    for t in reversed(range(len(mask))):
        G = mask[t] * (1.0 + GAMMA * G)
        ret[t] = G
    m = mask.bool()
    adv = ret[m]
    adv = (adv - adv.mean()) / (adv.std() + 1e-6)
    logp = -F.binary_cross_entropy_with_logits(policy(S[m])[:, 0], A[m], reduction="none")
    loss = -(logp * adv).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 7 == 0:
        print(f"iter {it:3d} loss {loss.item():+.4f} mean episode length {mask.sum(0).mean().item():.1f}")
