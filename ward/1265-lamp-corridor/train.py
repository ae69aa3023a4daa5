"""REINFORCE with a running baseline: walk to the lamp in a corridor with gusts of wind and noisy rewards."""
from collections import deque

import torch
import torch.nn as nn
from torch.distributions import Categorical


class Corridor:
    """Several walkers at once. State: own place, lamp's place, distance; three moves; a gust moves you now and then."""

    def __init__(self, walkers, cells=11):
        self.n, self.cells = walkers, cells

    def reset(self):
        self.place = torch.randint(0, self.cells, (self.n,))
        self.lamp = torch.randint(0, self.cells, (self.n,))
        return self.observe()

    def observe(self):
        p, l = self.place.float() / 5 - 1, self.lamp.float() / 5 - 1
        return torch.stack([p, l, l - p], 1)

    def step(self, action):
        gust = (torch.rand(self.n) < 0.1).long() * (torch.randint(0, 2, (self.n,)) * 2 - 1)
        self.place = (self.place + action - 1 + gust).clamp(0, self.cells - 1)
        reward = -(self.place - self.lamp).abs().float() / 5 + 0.3 * torch.randn(self.n)
        return self.observe(), reward


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 3))

    def forward(self, obs):
        return Categorical(logits=self.net(obs))


def main():
    torch.manual_seed(81)
    env, policy = Corridor(walkers=12), Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    recent, baseline = deque(maxlen=25), None
    for episode in range(1, 201):
        obs, logps, rewards = env.reset(), [], []
        for _ in range(8):
            dist = policy(obs)
            action = dist.sample()
            logps.append(dist.log_prob(action))
            obs, reward = env.step(action)
            rewards.append(reward)
        returns, g = [], torch.zeros(env.n)
        for r in reversed(rewards):
            g = r + 0.8 * g
            returns.insert(0, g)
        returns = torch.stack(returns)
        level = returns.mean(1)
        baseline = level if baseline is None else 0.9 * baseline + 0.1 * level
        advantage = (returns - baseline[:, None]) / (returns.std() + 1e-6)
        loss = -(torch.stack(logps) * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recent.append(torch.stack(rewards).sum(0).mean().item())
        if episode % 25 == 0:
            print(f"episode {episode}  loss {loss.item():+.4f}  return (last 25) {sum(recent) / len(recent):.3f}")


if __name__ == "__main__":
    main()
