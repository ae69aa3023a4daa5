import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
torch.manual_seed(0)
SIZE, GAMMA, BATCH = 5, 0.95, 64
MOVES = [(0, 1), (1, 0), (0, -1), (-1, 0)]
WALLS = {(1, 1), (1, 2), (3, 3), (3, 4)}


class Grid:
    def reset(self):
        self.pos, self.t = (0, 0), 0
        return self.obs()

    def obs(self):
        v = [0.0] * (2 * SIZE)
        v[self.pos[0]] = 1.0
        v[SIZE + self.pos[1]] = 1.0
        return v

    def step(self, a):
        self.t += 1
        r, c = self.pos[0] + MOVES[a][0], self.pos[1] + MOVES[a][1]
        if 0 <= r < SIZE and 0 <= c < SIZE and (r, c) not in WALLS:
            self.pos = (r, c)
        win = self.pos == (SIZE - 1, SIZE - 1)
        # a slippery reward, so the TD targets are noisy
        return self.obs(), (1.0 if win else -0.02 + random.gauss(0, 0.03)), win, self.t >= 40


def make_q():
    return nn.Sequential(nn.Linear(2 * SIZE, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))


q, q_target = make_q(), make_q()
q_target.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), lr=1.5e-3)
SLOTS, filled = 4000, 0
obs, nxt = torch.zeros(SLOTS, 2 * SIZE), torch.zeros(SLOTS, 2 * SIZE)
act, rew, end = torch.zeros(SLOTS, dtype=torch.long), torch.zeros(SLOTS), torch.zeros(SLOTS)
env, steps, returns, losses = Grid(), 0, deque(maxlen=20), deque(maxlen=100)

for episode in range(1, 121):
    s, total, done, timeout = env.reset(), 0.0, False, False
    eps = max(0.05, 1.0 - episode / 80)
    while not (done or timeout):
        if random.random() < eps:
            a = random.randrange(4)
        else:
            with torch.no_grad():
                a = q(torch.tensor(s)).argmax().item()
        s2, r, done, timeout = env.step(a)
        k = filled % SLOTS
        obs[k], act[k], rew[k], nxt[k], end[k] = torch.tensor(s), a, r, torch.tensor(s2), float(done)
        filled += 1
        s, total, steps = s2, total + r, steps + 1
        if filled >= 200 and steps % 3 == 0:
            i = torch.randint(0, min(filled, SLOTS), (BATCH,))
            with torch.no_grad():
                target = rew[i] + GAMMA * (1 - end[i]) * q_target(nxt[i]).max(1).values
            pred = q(obs[i]).gather(1, act[i].unsqueeze(1)).squeeze(1)
            loss = F.smooth_l1_loss(pred, target)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        if steps % 100 == 0:
            q_target.load_state_dict(q.state_dict())
    returns.append(total)
    if episode % 20 == 0:
        print(f"episode {episode:3d} steps {steps} eps {eps:.2f} loss {sum(losses) / max(1, len(losses)):.5f} return {sum(returns) / len(returns):.2f}")
