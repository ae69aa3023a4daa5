"""Advantage actor-critic: a boat has to stay next to a drifting buoy (one-dimensional toy water)."""
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(12)


class Water:
    """Several independent boats; actions: 0 = back, 1 = wait, 2 = ahead."""

    def __init__(self, boats, horizon=12):
        self.boats, self.horizon = boats, horizon

    def reset(self):
        self.t = 0
        self.gap = torch.empty(self.boats).uniform_(-3, 3)
        self.current = torch.empty(self.boats).uniform_(-0.3, 0.3)
        return self.observe()

    def observe(self):
        return torch.stack([self.gap / 3, self.current * 3], dim=1)

    def step(self, action):
        self.gap = self.gap + self.current + (action.float() - 1) * 0.8 + 0.05 * torch.randn(self.boats)
        self.gap = self.gap.clamp(-6, 6)
        self.t += 1
        return self.observe(), -self.gap.abs() / 3, self.t == self.horizon


class ActorCritic(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, hidden), nn.Tanh())
        self.actor = nn.Sequential(nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 3))
        self.critic = nn.Sequential(nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, obs):
        h = self.body(obs)
        return Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1)


class Agent:
    def __init__(self, lr=4e-3, gamma=0.9):
        self.net = ActorCritic()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=lr)
        self.gamma = gamma
        self.clear()

    def clear(self):
        self.memory = []

    def act(self, obs):
        dist, value = self.net(obs)
        action = dist.sample()
        return action, dist.log_prob(action), value

    def remember(self, log_prob, value, reward):
        self.memory.append((log_prob, value, reward))

    def returns(self):
        total, out = 0.0, []
        for _, _, reward in reversed(self.memory):
            total = reward + self.gamma * total
            out.insert(0, total)
        return torch.stack(out)

    def learn(self):
        returns = self.returns()
        log_probs = torch.stack([m[0] for m in self.memory])
        values = torch.stack([m[1] for m in self.memory])
        advantage = returns - values.detach()
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
        policy_loss = -(log_probs * advantage).mean()
        value_loss = nn.functional.smooth_l1_loss(values, returns)
        loss = policy_loss + 0.5 * value_loss
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 5.0)
        self.opt.step()
        self.clear()
        return policy_loss.item(), value_loss.item()


env, agent = Water(boats=32), Agent()
history = []
for episode in range(1, 121):
    obs, done, score = env.reset(), False, 0.0
    while not done:
        action, log_prob, value = agent.act(obs)
        obs, reward, done = env.step(action)
        agent.remember(log_prob, value, reward)
        score += reward.mean().item()
    pl, vl = agent.learn()
    history.append(score)
    if episode % 20 == 0:
        print(f"episode {episode:3d}  mean return {sum(history[-20:]) / 20:7.3f}  policy loss {pl:+.4f}  value loss {vl:.4f}")
