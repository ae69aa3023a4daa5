import copy
import random

import torch
import torch.nn as nn

SIZE, GAMMA, HORIZON = 6, 0.95, 40
WALLS = {(1, 1), (1, 2), (1, 3), (3, 2), (3, 3), (3, 4), (3, 5)}
GOAL = (5, 5)
MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]
CELLS = [(r, c) for r in range(SIZE) for c in range(SIZE) if (r, c) not in WALLS and (r, c) != GOAL]


class Grid:
    def reset(self):
        self.pos, self.t = random.choice(CELLS), 0
        return self.pos

    def step(self, a):
        r, c = self.pos[0] + MOVES[a][0], self.pos[1] + MOVES[a][1]
        if 0 <= r < SIZE and 0 <= c < SIZE and (r, c) not in WALLS:
            self.pos = (r, c)
        self.t += 1
        reached = self.pos == GOAL
        return self.pos, (1.0 if reached else -0.02), reached, reached or self.t >= HORIZON


def encode(cells):
    x = torch.zeros(len(cells), 2 * SIZE)
    for i, (r, c) in enumerate(cells):
        x[i, r] = x[i, SIZE + c] = 1.0
    return x


class Replay:
    def __init__(self, size):
        self.rows, self.size, self.at = [], size, 0

    def add(self, *row):
        if len(self.rows) < self.size:
            self.rows.append(row)
        else:
            self.rows[self.at] = row
        self.at = (self.at + 1) % self.size

    def sample(self, n):
        s, a, r, s2, end = zip(*random.sample(self.rows, n))
        return encode(s), torch.tensor(a), torch.tensor(r), encode(s2), torch.tensor(end, dtype=torch.float32)


def evaluate(net):
    """Greedy walk from every cell: share that arrives, mean number of steps."""
    env, lengths = Grid(), []
    table = dict(zip(CELLS, net(encode(CELLS)).argmax(1).tolist()))
    for start in CELLS:
        env.pos, env.t = start, 0
        done = False
        while not done:
            _, _, reached, done = env.step(table[env.pos])
        lengths.append(env.t if reached else None)
    ok = [n for n in lengths if n]
    return len(ok) / len(lengths), sum(ok) / max(1, len(ok))


def main(steps=5000):
    random.seed(42)
    torch.manual_seed(42)
    online = nn.Sequential(nn.Linear(2 * SIZE, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
    target = copy.deepcopy(online).requires_grad_(False)
    optimizer = torch.optim.Adam(online.parameters(), lr=1e-3)
    buffer, env = Replay(5000), Grid()
    state, losses = env.reset(), []
    for step in range(1, steps + 1):
        epsilon = max(0.1, 1 - step / 3000)
        if random.random() < epsilon:
            action = random.randrange(4)
        else:
            with torch.no_grad():
                action = online(encode([state])).argmax(1).item()
        nxt, reward, reached, done = env.step(action)
        buffer.add(state, action, reward, nxt, reached)
        state = env.reset() if done else nxt
        if step < 500:
            continue
        s, a, r, s2, end = buffer.sample(64)
        q = online(s).gather(1, a[:, None]).squeeze(1)
        with torch.no_grad():
            best = online(s2).argmax(1, keepdim=True)
            goal = r + GAMMA * (1 - end) * target(s2).gather(1, best).squeeze(1)
        loss = nn.functional.smooth_l1_loss(q, goal)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(online.parameters(), 10.0)
        optimizer.step()
        losses.append(loss.item())
        if step % 200 == 0:
            target.load_state_dict(online.state_dict())
        if step % 500 == 0:
            with torch.no_grad():
                share, length = evaluate(online)
            print(f"step {step:5d}  td loss {sum(losses[-500:]) / len(losses[-500:]):.5f}  epsilon {epsilon:.2f}  arrives {share:.2f}  steps {length:.1f}")


if __name__ == "__main__":
    main()
