"""Deep Q-learning on a small grid: reach the exit, avoid the pits."""
import random
from collections import deque

import torch
import torch.nn as nn

SIZE, EXIT, PITS = 5, (4, 4), {(1, 1), (2, 3), (3, 1)}
SLIP = 0.05
MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]


class Grid:
    def reset(self):
        cells = [(r, c) for r in range(SIZE) for c in range(SIZE) if (r, c) not in PITS and (r, c) != EXIT]
        self.pos, self.t = random.choice(cells), 0
        return self.state()

    def state(self):
        s = torch.zeros(SIZE * SIZE)
        s[self.pos[0] * SIZE + self.pos[1]] = 1
        return s

    def step(self, action):
        self.t += 1
        if random.random() < SLIP:
            action = random.randrange(4)
        r = min(max(self.pos[0] + MOVES[action][0], 0), SIZE - 1)
        c = min(max(self.pos[1] + MOVES[action][1], 0), SIZE - 1)
        self.pos = (r, c)
        if self.pos == EXIT:
            return self.state(), 1.0, True
        if self.pos in PITS:
            return self.state(), -1.0, True
        return self.state(), -0.02, self.t >= 40


class Replay:
    def __init__(self, capacity):
        self.items = deque(maxlen=capacity)

    def push(self, *transition):
        self.items.append(transition)

    def sample(self, k):
        s, a, r, s2, end = zip(*random.sample(self.items, k))
        return torch.stack(s), torch.tensor(a), torch.tensor(r), torch.stack(s2), torch.tensor(end, dtype=torch.float32)

    def __len__(self):
        return len(self.items)


def q_network():
    return nn.Sequential(nn.Linear(SIZE * SIZE, 64), nn.ReLU(), nn.Linear(64, 4))


@torch.no_grad()
def greedy_success(q, env, episodes=50):
    wins = 0
    for _ in range(episodes):
        s, end, reward = env.reset(), False, 0.0
        while not end:
            s, reward, end = env.step(q(s).argmax().item())
        wins += reward == 1.0
    return wins / episodes


def main():
    random.seed(15)
    torch.manual_seed(15)
    env, test_env, replay = Grid(), Grid(), Replay(capacity=3000)
    q, target = q_network(), q_network()
    target.load_state_dict(q.state_dict())
    opt = torch.optim.Adam(q.parameters(), lr=1e-3)
    gamma, batch, total = 0.95, 32, 5000
    s, losses = env.reset(), []
    for step in range(1, total + 1):
        eps = max(0.1, 1.0 - step / 2500)
        with torch.no_grad():
            a = random.randrange(4) if random.random() < eps else q(s).argmax().item()
        s2, r, end = env.step(a)
        replay.push(s, a, r, s2, end and env.t < 40)
        s = env.reset() if end else s2
        if len(replay) >= 200:
            bs, ba, br, bs2, bend = replay.sample(batch)
            with torch.no_grad():
                goal = br + gamma * (1 - bend) * target(bs2).max(1).values
            loss = nn.functional.smooth_l1_loss(q(bs).gather(1, ba[:, None])[:, 0], goal)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        if step % 100 == 0:
            target.load_state_dict(q.state_dict())
        if step % 500 == 0:
            print(f"step {step:4d} eps {eps:.2f} td loss {sum(losses[-200:]) / 200:.5f} replay {len(replay)} "
                  f"success {greedy_success(q, test_env):.2f}")


if __name__ == "__main__":
    main()
