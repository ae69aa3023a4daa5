"""Lands a small craft on a pad with a deep Q-network: one burn or none in each tick."""

import argparse
import random
from collections import deque

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class Descent:
    """Height and speed of a craft over its pad; it wants to touch down slowly."""

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.height, self.speed, self.fuel, self.ticks = self.rng.uniform(6, 10), self.rng.uniform(-0.5, 0.5), 40, 0
        return self.look()

    def look(self):
        return np.array([self.height / 5 - 1, self.speed, self.fuel / 20 - 1], dtype=np.float32)

    def step(self, burn):
        thrust = 0.25 if burn and self.fuel > 0 else 0.0
        self.fuel -= int(burn and self.fuel > 0)
        self.speed += thrust - 0.12
        self.height += self.speed
        self.ticks += 1
        if self.height <= 0:
            return self.look(), (20.0 if abs(self.speed) < 0.6 else -10.0 * abs(self.speed)), True
        if self.ticks >= 120 or self.height > 20:
            return self.look(), -10.0, True
        return self.look(), 0.3 - 0.3 * abs(self.speed), False


def make_net():
    return nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ticks", type=int, default=6000)
    parser.add_argument("--warmup", type=int, default=500)
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--seed", type=int, default=4)
    args = parser.parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    env = Descent(np.random.default_rng(args.seed))
    online, target = make_net(), make_net()
    target.load_state_dict(online.state_dict())
    optimizer = torch.optim.Adam(online.parameters(), lr=args.lr)
    memory = deque(maxlen=10000)

    obs, score, scores = env.reset(), 0.0, []
    for tick in range(args.ticks):
        epsilon = max(0.05, 1.0 - tick / 3000)
        if random.random() < epsilon:
            action = random.randrange(2)
        else:
            action = int(online(torch.from_numpy(obs)).argmax())
        nxt, reward, done = env.step(action)
        memory.append((obs, action, reward, nxt, float(done)))
        score += reward
        obs = nxt
        if done:
            scores.append(score)
            obs, score = env.reset(), 0.0
        if tick < args.warmup or tick % 4:
            continue
        s, a, r, s2, d = (np.array(x, dtype=np.float32) for x in zip(*random.sample(memory, 64)))
        with torch.no_grad():
            best = target(torch.from_numpy(s2)).max(dim=1).values
            goal = torch.from_numpy(r) + args.gamma * best * (1 - torch.from_numpy(d))
        value = online(torch.from_numpy(s)).gather(1, torch.from_numpy(a).long()[:, None]).squeeze(1)
        loss = F.mse_loss(goal, value)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if tick % 400 == 0:
            target.load_state_dict(online.state_dict())
            print(f"tick {tick}: td loss {loss.item():.3f}, q {value.mean().item():.2f}, last ten episodes {np.mean(scores[-10:] or [0.0]):.1f}")


if __name__ == "__main__":
    main()
