"""Actor-critic on Catch: a ball falls down a 9x7 board, a paddle in the bottom row must be under it."""
import torch
import torch.nn as nn
from torch.distributions import Categorical

ROWS, COLS, ENVS = 9, 7, 64
torch.manual_seed(1)


class Catch:
    def reset(self):
        self.row = 0
        self.ball = torch.randint(0, COLS, (ENVS,))
        self.paddle = torch.randint(0, COLS, (ENVS,))
        self.drift = torch.randint(-1, 2, (ENVS,))
        return self.observe()

    def observe(self):
        board = torch.zeros(ENVS, ROWS, COLS)
        idx = torch.arange(ENVS)
        board[idx, self.row, self.ball] = 1.0
        board[idx, ROWS - 1, self.paddle] += -1.0
        return torch.cat([board.flatten(1), self.drift[:, None].float()], 1)

    def step(self, action):
        self.paddle = (self.paddle + action - 1).clamp(0, COLS - 1)
        self.row += 1
        nxt = self.ball + self.drift
        self.drift = torch.where((nxt < 0) | (nxt >= COLS), -self.drift, self.drift)
        self.ball = (self.ball + self.drift).clamp(0, COLS - 1)
        done = self.row == ROWS - 1
        reward = torch.where(self.ball == self.paddle, 1.0, -1.0) if done else torch.zeros(ENVS)
        return self.observe(), reward, done


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(ROWS * COLS + 1, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU())
        self.pi, self.v = nn.Linear(64, 3), nn.Linear(64, 1)

    def forward(self, s):
        h = self.trunk(s)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


env, agent = Catch(), ActorCritic()
optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3)
gamma, window = 0.98, []
for episode in range(1, 1101):
    state, done = env.reset(), False
    logps, values, entropies, rewards = [], [], [], []
    while not done:
        dist, value = agent(state)
        action = dist.sample()
        state, reward, done = env.step(action)
        logps.append(dist.log_prob(action))
        values.append(value)
        entropies.append(dist.entropy())
        rewards.append(reward)
    ret, returns = torch.zeros(ENVS), []
    for r in reversed(rewards):
        ret = r + gamma * ret
        returns.insert(0, ret)
    returns, values = torch.stack(returns), torch.stack(values)
    advantage = (returns - values).detach()
    loss = -(torch.stack(logps) * advantage).mean() + 0.5 * (returns - values).pow(2).mean() - 0.01 * torch.stack(entropies).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(agent.parameters(), 1.0)
    optimizer.step()
    window.append(rewards[-1].mean().item())
    if episode % 50 == 0:
        print(f"episode {episode * ENVS:6d}  loss {loss.item():+.4f}  mean reward {sum(window[-50:]) / 50:+.3f}  entropy {torch.stack(entropies).mean().item():.3f}")
