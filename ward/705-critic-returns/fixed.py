import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(1)

# one-step "reach" task: 6 numbers describe the scene, 4 arm primitives, the scene also decides how much can be earned
OBS, ACT, B = 6, 4, 128
W_act = torch.randn(OBS, ACT)
w_base = torch.randn(OBS)


def rollout(policy, n):
    obs = torch.randn(n, OBS)
    with torch.no_grad():
        dist = Categorical(logits=policy(obs))
        act = dist.sample()
        logp = dist.log_prob(act)
    best = (obs @ W_act).argmax(1)
    rew = 2.0 * (act == best).float() + 1.5 * torch.tanh(obs @ w_base) + 0.1 * torch.randn(n)
    return obs, act, logp, rew


class ActorCritic(nn.Module):
    def __init__(self, h=64):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(OBS, h), nn.Tanh(), nn.Linear(h, ACT))
        self.v = nn.Sequential(nn.Linear(OBS, h), nn.Tanh(), nn.Linear(h, h), nn.Tanh(), nn.Linear(h, 1))

    def policy(self, obs):
        return self.pi(obs)

    def value(self, obs):
        return self.v(obs)


def ppo_losses(net, obs, act, old_logp, returns, adv, clip=0.2):
    dist = Categorical(logits=net.policy(obs))
    ratio = (dist.log_prob(act) - old_logp).exp()
    pg = -torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv).mean()
    values = net.value(obs).squeeze(-1)
    v_loss = 0.5 * (returns - values).pow(2).mean()
    return pg, v_loss, dist.entropy().mean()


net = ActorCritic()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for it in range(150):
    obs, act, logp, returns = rollout(net.policy, B)
    with torch.no_grad():
        adv = returns - net.value(obs).squeeze(-1)
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for _ in range(2):
        pg, v_loss, ent = ppo_losses(net, obs, act, logp, returns, adv)
        loss = pg + 0.5 * v_loss - 0.001 * ent
        opt.zero_grad()
        loss.backward()
        opt.step()
    if it % 15 == 14:
        with torch.no_grad():
            o, a, _, r = rollout(net.policy, 2000)
            v = net.value(o).squeeze(-1)
            ev = 1 - (r - v).var() / r.var()
            hit = (a == (o @ W_act).argmax(1)).float().mean()
        print(f"iter {it + 1:3d} reward {r.mean():.3f} hit {hit:.3f} pg {pg.item():+.3f} v_loss {v_loss.item():.3f} explained_var {ev:.3f}")
