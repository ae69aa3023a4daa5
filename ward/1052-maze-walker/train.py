"""Deep Q-learning on a small maze: every step costs 1, the exit ends the episode."""
import copy
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

MAZE = [
    "...#.",
    ".#...",
    ".#.#.",
    "...#E",
    ".#...",
]
ROWS, COLS = len(MAZE), len(MAZE[0])
MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]
FREE = [(r, c) for r in range(ROWS) for c in range(COLS) if MAZE[r][c] == "."]


def move(cell, action):
    r, c = cell[0] + MOVES[action][0], cell[1] + MOVES[action][1]
    if not (0 <= r < ROWS and 0 <= c < COLS) or MAZE[r][c] == "#":
        r, c = cell
    return (r, c), MAZE[r][c] == "E"


def encode(cells):
    x = torch.zeros(len(cells), ROWS * COLS)
    for i, (r, c) in enumerate(cells):
        x[i, r * COLS + c] = 1.0
    return x


class QNet(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.fc1 = nn.Linear(ROWS * COLS, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, 4)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return F.relu(self.fc3(x))


def greedy_success(q, limit=30):
    """share of start cells from which the greedy walk gets out in time"""
    out = 0
    with torch.no_grad():
        best = {cell: int(a) for cell, a in zip(FREE, q(encode(FREE)).argmax(1))}
    for cell in FREE:
        for _ in range(limit):
            cell, done = move(cell, best[cell])
            if done:
                out += 1
                break
    return out / len(FREE)


def main(steps=500, batch=48, gamma=0.9, sync=10):
    torch.manual_seed(4)
    random.seed(4)
    memory = deque(maxlen=5000)
    for _ in range(2500):                               # a random walker fills the memory
        cell, action = random.choice(FREE), random.randrange(4)
        nxt, done = move(cell, action)
        memory.append((cell, action, -1.0, nxt, float(done)))

    q = QNet()
    target = copy.deepcopy(q)
    optimizer = torch.optim.Adam(q.parameters(), lr=4e-3)
    for step in range(1, steps + 1):
        cells, actions, rewards, nexts, dones = zip(*random.sample(memory, batch))
        chosen = q(encode(cells)).gather(1, torch.tensor(actions)[:, None]).squeeze(1)
        with torch.no_grad():
            ahead = target(encode(nexts)).max(1).values
            goal = torch.tensor(rewards) + gamma * ahead * (1 - torch.tensor(dones))
        loss = F.smooth_l1_loss(chosen, goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % sync == 0:
            target.load_state_dict(q.state_dict())
        if step % 50 == 0:
            print(f"step {step:4d}  td loss {loss.item():.4f}  mean Q {chosen.mean().item():+.3f}  exits found {greedy_success(q):.2f}")


if __name__ == "__main__":
    main()
