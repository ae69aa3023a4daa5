"""DQN in a small grid with a pit: replay memory, target network, epsilon-greedy."""
import random
from collections import deque

import torch
import torch.nn as nn

SIZE, GOAL, PITS = 5, (4, 4), {(1, 3), (2, 1), (3, 3)}
MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]


class Grid:
    def reset(self):
        self.at, self.t = (0, 0), 0
        return self.state()

    def state(self):
        s = torch.zeros(SIZE * SIZE)
        s[self.at[0] * SIZE + self.at[1]] = 1.0
        return s

    def step(self, a):
        r, c = self.at[0] + MOVES[a][0], self.at[1] + MOVES[a][1]
        self.at = (min(max(r, 0), SIZE - 1), min(max(c, 0), SIZE - 1))
        self.t += 1
        if self.at == GOAL:
            return self.state(), 1.0, True
        if self.at in PITS:
            return self.state(), -1.0, True
        return self.state(), -0.02, self.t >= 40


def qnet():
    return nn.Sequential(nn.Linear(SIZE * SIZE, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))


class Agent:
    def __init__(self, gamma=0.97, lr=1e-3, memory=5000):
        self.q, self.target = qnet(), qnet()
        self.target.load_state_dict(self.q.state_dict())
        self.opt = torch.optim.Adam(self.q.parameters(), lr=lr)
        self.memory = deque(maxlen=memory)
        self.gamma, self.steps = gamma, 0

    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(4)
        with torch.no_grad():
            return int(self.q(s).argmax())

    def learn(self, batch=64):
        s, a, r, s2, end = map(lambda c: torch.stack(c) if torch.is_tensor(c[0]) else torch.tensor(c),
                               zip(*random.sample(self.memory, batch)))
        with torch.no_grad():
            goal = r + self.gamma * self.target(s2).max(1).values * (~end)
        now = self.q(s).gather(1, a.unsqueeze(1)).squeeze(1)
        loss = nn.functional.smooth_l1_loss(now, goal)
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.q.parameters(), 10.0)
        self.opt.step()
        self.steps += 1
        if self.steps % 200 == 0:
            self.target.load_state_dict(self.q.state_dict())
        return loss.item()


def play(agent, env, eps, learn=True):
    s, ret, losses, end = env.reset(), 0.0, [], False
    while not end:
        a = agent.act(s, eps)
        s2, r, end = env.step(a)
        if learn:
            agent.memory.append((s, a, r, s2, end))
            if len(agent.memory) >= 300:
                losses.append(agent.learn())
        s, ret = s2, ret + r
    return ret, losses


if __name__ == "__main__":
    random.seed(0)
    torch.manual_seed(0)
    env, agent = Grid(), Agent()
    returns, losses = [], []
    for episode in range(1, 361):
        ret, ls = play(agent, env, eps=max(0.05, 1 - episode / 180))
        returns.append(ret)
        losses += ls
        if episode % 40 == 0:
            print(f"episode {episode}: return {sum(returns[-40:]) / 40:+.2f} loss {sum(losses[-300:]) / max(1, len(losses[-300:])):.5f} "
                  f"memory {len(agent.memory)}")
    print(f"greedy return {play(agent, env, 0.0, learn=False)[0]:+.2f}")
