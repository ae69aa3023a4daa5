"""REINFORCE with a batch of hand-written cart-poles (no gym needed)."""
import math
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
N_ENVS, MAX_STEPS, GAMMA = 24, 100, 0.98


def physics(s, a):
    x, v, th, w = s.unbind(1)
    force = torch.where(a == 1, 10.0, -10.0)
    sin, cos = th.sin(), th.cos()
    tmp = (force + 0.05 * w ** 2 * sin) / 1.1
    acc_th = (9.8 * sin - cos * tmp) / (0.5 * (4 / 3 - 0.1 * cos ** 2 / 1.1))
    acc_x = tmp - 0.05 * acc_th * cos / 1.1
    return torch.stack([x + 0.02 * v, v + 0.02 * acc_x, th + 0.02 * w, w + 0.02 * acc_th], 1)


def rollout(policy):
    s = 0.1 * torch.rand(N_ENVS, 4) - 0.05
    alive = torch.ones(N_ENVS)
    logps, masks, ents = [], [], []
    for _ in range(MAX_STEPS):
        dist = Categorical(logits=policy(s * torch.tensor([1.0, 1.0, 5.0, 1.0])))
        a = dist.sample()
        logps.append(dist.log_prob(a))
        ents.append(dist.entropy())
        masks.append(alive)
        s = physics(s, a)
        alive = alive * ((s[:, 0].abs() < 2.4) & (s[:, 2].abs() < 12 * math.pi / 180)).float()
        if alive.sum() == 0:
            break
    return torch.stack(logps), torch.stack(masks), torch.stack(ents)


policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)

recent = []
for it in range(1, 91):
    logp, mask, ent = rollout(policy)
    # reward 1 per step survived
    ret = torch.zeros_like(mask)
    run = torch.zeros(N_ENVS)
    for t in reversed(range(len(mask))):
        run = mask[t] + GAMMA * run
        ret[t] = run
    n = mask.sum()
    mean = (ret * mask).sum() / n
    std = (((ret - mean) ** 2 * mask).sum() / n).sqrt()
    adv = (ret - mean) / (std + 1e-6)
    loss = -((logp * adv + 0.01 * ent) * mask).sum() / n
    opt.zero_grad()
    loss.backward()
    opt.step()
    recent.append(mask.sum(0).mean().item())
    if it % 10 == 0:
        print(f"iteration {it:3d}  loss {loss.item():+.4f}  mean episode length {sum(recent[-10:]) / 10:.1f}")

with torch.no_grad():
    _, mask, _ = rollout(policy)
print(f"final evaluation: {mask.sum(0).mean().item():.1f} of {MAX_STEPS} steps")
