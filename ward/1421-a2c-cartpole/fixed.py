"""Advantage actor-critic on a vectorised cart-pole written with tensors (no gym needed)."""
import math
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.distributions import Categorical


@dataclass
class Cfg:
    envs: int = 64
    horizon: int = 16
    updates: int = 500
    gamma: float = 0.98
    lr_actor: float = 2e-3
    lr_critic: float = 3e-3
    entropy: float = 0.01
    seed: int = 0


class CartPoles:
    def __init__(self, n):
        self.n = n
        self.s = self._fresh(n)
        self.t = torch.zeros(n)

    def _fresh(self, n):
        return (torch.rand(n, 4) - 0.5) * 0.1

    def step(self, a):
        x, xd, th, thd = self.s.unbind(1)
        force = torch.where(a == 1, 10.0, -10.0)
        c, s = th.cos(), th.sin()
        tmp = (force + 0.05 * thd ** 2 * s) / 1.1
        tha = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c ** 2 / 1.1))
        xa = tmp - 0.05 * tha * c / 1.1
        self.s = torch.stack([x + 0.02 * xd, xd + 0.02 * xa, th + 0.02 * thd, thd + 0.02 * tha], 1)
        self.t += 1
        done = (self.s[:, 0].abs() > 2.4) | (self.s[:, 2].abs() > 12 * math.pi / 180)
        lengths = self.t[done].tolist()
        fresh = self._fresh(self.n)
        self.s = torch.where(done[:, None], fresh, self.s)
        self.t = torch.where(done, torch.zeros_like(self.t), self.t)
        reward = torch.where(done, torch.zeros(self.n), torch.full((self.n,), 0.1))
        return self.s, reward, done.float(), lengths


def features(s):
    return s * torch.tensor([1.0, 1.0, 8.0, 1.0])


def build(out):
    return nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, out))


class Agent:
    def __init__(self, cfg):
        self.cfg = cfg
        self.actor = build(2)
        self.critic = build(1)
        self.opt_actor = torch.optim.Adam(self.actor.parameters(), lr=cfg.lr_actor)
        self.opt_critic = torch.optim.Adam(self.critic.parameters(), lr=cfg.lr_critic)

    def update(self, obs, acts, rews, dones, last):
        with torch.no_grad():
            ret = self.critic(features(last)).squeeze(-1)
            rets = []
            for r, d in zip(reversed(rews), reversed(dones)):
                ret = r + self.cfg.gamma * ret * (1 - d)
                rets.append(ret)
            rets = torch.stack(rets[::-1])
        obs, acts = features(torch.stack(obs)), torch.stack(acts)
        values = self.critic(obs).squeeze(-1)
        critic_loss = (rets - values).pow(2).mean()
        self.opt_critic.zero_grad()
        critic_loss.backward()
        self.opt_critic.step()

        adv = rets - values.detach()
        dist = Categorical(logits=self.actor(obs))
        actor_loss = -(dist.log_prob(acts) * adv).mean()
        actor_loss = actor_loss - self.cfg.entropy * dist.entropy().mean()
        self.opt_actor.zero_grad()
        actor_loss.backward()
        self.opt_actor.step()
        var = rets.var()
        return actor_loss.item(), critic_loss.item(), (1 - (rets - values.detach()).var() / (var + 1e-8)).item()


@torch.no_grad()
def evaluate(agent, limit=250):
    env = CartPoles(32)
    alive, total = torch.ones(32), torch.zeros(32)
    for _ in range(limit):
        a = agent.actor(features(env.s)).argmax(1)
        _, _, d, _ = env.step(a)
        alive = alive * (1 - d)
        total += alive
    return total.mean().item()


def main(cfg):
    torch.manual_seed(cfg.seed)
    env, agent = CartPoles(cfg.envs), Agent(cfg)
    for u in range(1, cfg.updates + 1):
        frac = 1 - 0.8 * (u - 1) / cfg.updates
        agent.opt_actor.param_groups[0]["lr"] = cfg.lr_actor * frac
        agent.opt_critic.param_groups[0]["lr"] = cfg.lr_critic * frac
        obs, acts, rews, dones = [], [], [], []
        for _ in range(cfg.horizon):
            with torch.no_grad():
                a = Categorical(logits=agent.actor(features(env.s))).sample()
            obs.append(env.s)
            _, r, d, _ = env.step(a)
            acts.append(a), rews.append(r), dones.append(d)
        la, lc, ev = agent.update(obs, acts, rews, dones, env.s)
        if u % 50 == 0:
            print(f"update {u:4d} actor {la:+.4f} critic {lc:.4f} explained var {ev:+.2f} greedy length {evaluate(agent):.0f}")


main(Cfg())
