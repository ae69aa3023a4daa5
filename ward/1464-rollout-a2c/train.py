"""Advantage actor-critic on a corridor: 64 ticks in 8 corridors at once are played without gradients, then learned from in four minibatches."""

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

SIZE, ENVS, TICKS, UPDATES = 12, 8, 64, 60
torch.manual_seed(2)
rng = np.random.default_rng(2)


class Corridors:
    """A lamp burns at one end of each corridor; walking to it pays, every tick costs a little."""

    def __init__(self):
        self.at = rng.integers(0, SIZE, ENVS)
        self.lamp = rng.integers(0, 2, ENVS) * (SIZE - 1)

    def look(self):
        return torch.tensor(np.stack([self.at / SIZE * 2 - 1, np.sign(self.lamp - SIZE / 2)], 1), dtype=torch.float32)

    def step(self, moves):
        self.at = np.clip(self.at + 2 * moves - 1, 0, SIZE - 1)
        done = self.at == self.lamp
        reward = np.where(done, 1.0, -0.02)
        self.at = np.where(done, rng.integers(1, SIZE - 1, ENVS), self.at)
        self.lamp = np.where(done, rng.integers(0, 2, ENVS) * (SIZE - 1), self.lamp)
        return self.look(), torch.tensor(reward, dtype=torch.float32), torch.tensor(done, dtype=torch.float32)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh())
        self.actor, self.critic = nn.Linear(48, 2), nn.Linear(48, 1)

    def forward(self, look):
        hidden = self.body(look)
        return Categorical(logits=self.actor(hidden)), self.critic(hidden).squeeze(-1)


env, agent = Corridors(), Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=2e-3)
look = env.look()
for update in range(UPDATES):
    looks, moves, rewards, dones, values = [], [], [], [], []
    for _ in range(TICKS):
        with torch.no_grad():
            policy, value = agent(look)
            move = policy.sample()
        looks.append(look)
        moves.append(move)
        values.append(value)
        look, reward, done = env.step(move.numpy())
        rewards.append(reward)
        dones.append(done)
    with torch.no_grad():
        _, ahead = agent(look)
        returns = torch.zeros(TICKS, ENVS)
        for tick in reversed(range(TICKS)):
            ahead = rewards[tick] + 0.95 * (1 - dones[tick]) * ahead
            returns[tick] = ahead
    looks, moves, returns = torch.cat(looks), torch.cat(moves), returns.reshape(-1)
    advantages = returns - torch.cat(values)
    for part in torch.randperm(len(moves)).chunk(4):
        policy, value = agent(looks[part])
        gain = (policy.log_prob(moves[part]) * advantages[part]).mean()
        loss = -gain + 0.5 * (value - returns[part]).pow(2).mean() - 0.01 * policy.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
        optimizer.step()
    if update % 10 == 9:
        print(f"update {update + 1}: reward per tick {torch.stack(rewards).mean().item():.3f}, loss {loss.item():.4f}")
