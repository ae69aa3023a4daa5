"""Policy gradient with a learned baseline on a batch of pole-balancing carts."""
import math

import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(3)
N_ENVS, HORIZON, GAMMA, ITERATIONS = 16, 200, 0.98, 60


class Carts:
    def __init__(self, n):
        self.n = n

    def reset(self):
        self.s = (torch.rand(self.n, 4) - 0.5) * 0.1
        self.alive = torch.ones(self.n, dtype=torch.bool)
        return self.s

    def step(self, action):
        x, v, th, w = self.s.unbind(1)
        force = torch.where(action == 1, 10.0, -10.0)
        tmp = (force + 0.05 * w ** 2 * th.sin()) / 1.1
        wacc = (9.8 * th.sin() - th.cos() * tmp) / (0.5 * (4 / 3 - 0.1 * th.cos() ** 2 / 1.1))
        vacc = tmp - 0.05 * wacc * th.cos() / 1.1
        self.s = torch.stack([x + 0.02 * v, v + 0.02 * vacc, th + 0.02 * w, w + 0.02 * wacc], 1)
        reward = self.alive.float()
        self.alive = self.alive & (self.s[:, 0].abs() < 2.4) & (self.s[:, 2].abs() < 12 * math.pi / 180)
        return self.s, reward


class ActorCritic(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(4, hidden), nn.Tanh(), nn.Linear(hidden, 2))
        self.critic = nn.Sequential(nn.Linear(4, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, s):
        return Categorical(logits=self.actor(s)), self.critic(s).squeeze(-1)


def rollout(env, net):
    s, states, actions, rewards = env.reset(), [], [], []
    with torch.no_grad():
        for _ in range(HORIZON):
            a = net(s)[0].sample()
            states.append(s)
            actions.append(a)
            s, r = env.step(a)
            rewards.append(r)
            if not env.alive.any():
                break
    rewards = torch.stack(rewards)
    returns, acc = torch.zeros_like(rewards), torch.zeros(env.n)
    for t in range(len(rewards) - 1, -1, -1):
        acc = rewards[t] + GAMMA * acc
        returns[t] = acc
    return torch.stack(states), torch.stack(actions), rewards, returns


env, net = Carts(N_ENVS), ActorCritic()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for it in range(1, ITERATIONS + 1):
    states, actions, rewards, returns = rollout(env, net)
    mask = rewards.bool()
    s, a, g = states[mask], actions[mask], returns[mask] / 50
    dist, value = net(s)
    advantage = g - value.detach()
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    policy_loss = -(dist.log_prob(a) * advantage).mean()
    value_loss = nn.functional.mse_loss(value, g)
    loss = policy_loss + 0.5 * value_loss - 0.01 * dist.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    if it % 5 == 0:
        print(f"iter {it:3d} loss {loss.item():+.3f} value {value_loss.item():.3f} mean episode length {rewards.sum(0).mean().item():.1f}")
