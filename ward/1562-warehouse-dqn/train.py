"""DQN for a warehouse robot: reach the dock on a 6x6 floor with walls."""
import copy
import random
from collections import deque

import torch
import torch.nn as nn

random.seed(3)
torch.manual_seed(3)
WALLS = {(1, 1), (1, 2), (1, 3), (3, 2), (3, 3), (3, 4), (3, 5), (4, 1)}
MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]
DOCK, N = (5, 5), 6


class Floor:
    def reset(self):
        while True:
            self.pos, self.t = (random.randrange(N), random.randrange(N)), 0
            if self.pos not in WALLS and self.pos != DOCK:
                return self.encode()

    def encode(self):
        s = torch.zeros(N * N)
        s[self.pos[0] * N + self.pos[1]] = 1.0
        return s

    def step(self, action):
        r, c = self.pos[0] + MOVES[action][0], self.pos[1] + MOVES[action][1]
        if 0 <= r < N and 0 <= c < N and (r, c) not in WALLS:
            self.pos = (r, c)
        self.t += 1
        done = self.pos == DOCK
        return self.encode(), (1.0 if done else -0.02), done, done or self.t >= 40


class Agent:
    def __init__(self, gamma=0.95, lr=2e-3, batch=64):
        self.q = nn.Sequential(nn.Linear(N * N, 64), nn.ReLU(), nn.Linear(64, 4))
        self.target = copy.deepcopy(self.q)
        self.opt = torch.optim.Adam(self.q.parameters(), lr=lr)
        self.memory, self.gamma, self.batch = deque(maxlen=5000), gamma, batch

    def act(self, state, eps):
        if random.random() < eps:
            return random.randrange(4)
        with torch.no_grad():
            return int(self.q(state).argmax())

    def learn(self):
        s, a, r, s2, done = zip(*random.sample(self.memory, self.batch))
        s, s2 = torch.stack(s), torch.stack(s2)
        a, r, done = torch.tensor(a), torch.tensor(r), torch.tensor(done, dtype=torch.float32)
        value = self.q(s).gather(1, a.unsqueeze(1))
        with torch.no_grad():
            goal = r + self.gamma * (1 - done) * self.target(s2).max(dim=1).values
        loss = (value - goal).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


def success_rate(agent, env, episodes=40):
    wins = 0
    for _ in range(episodes):
        s, over = env.reset(), False
        while not over:
            s, _, done, over = env.step(agent.act(s, 0.0))
        wins += done
    return wins / episodes


env, agent = Floor(), Agent()
s, losses = env.reset(), []
for step in range(1, 5001):
    eps = max(0.1, 1 - step / 2500)
    a = agent.act(s, eps)
    s2, r, done, over = env.step(a)
    agent.memory.append((s, a, r, s2, float(done)))
    s = env.reset() if over else s2
    if step > 300 and step % 2 == 0:
        losses.append(agent.learn())
    if step % 100 == 0:
        agent.target.load_state_dict(agent.q.state_dict())
    if step % 500 == 0:
        print(f"step {step} td loss {sum(losses[-200:]) / max(len(losses[-200:]), 1):.5f} success {success_rate(agent, env):.2f}")
        s = env.reset()
