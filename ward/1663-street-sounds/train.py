"""Street sounds come in over the months; the recogniser learns each month's kinds and rehearses some of the older ones."""
import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

KINDS, MONTHS, WIDTH = 8, 4, 40


def clips(kinds, count, rng):
    label = rng.choice(kinds, count)
    t = np.linspace(0, 1, WIDTH)[None, :]
    tone = (2.0 + 1.3 * label)[:, None]
    wave = np.sin(2 * np.pi * tone * t + rng.uniform(0, 0.8, (count, 1))) * (1 + 0.2 * rng.normal(size=(count, 1)))
    return torch.tensor(wave + 0.35 * rng.normal(size=wave.shape), dtype=torch.float32), torch.tensor(label)


class Memory:
    """A bounded, even sample of everything that has been seen."""

    def __init__(self, room, seed):
        self.room, self.seen, self.items = room, 0, []
        self.random = random.Random(seed)

    def add(self, x, y):
        for pair in zip(x, y):
            self.seen += 1
            if len(self.items) < self.room:
                self.items.append(pair)
            elif (slot := self.random.randrange(self.seen)) < self.room:
                self.items[slot] = pair

    def draw(self, count):
        chosen = self.random.sample(self.items, min(count, len(self.items)))
        return torch.stack([x for x, _ in chosen]), torch.stack([y for _, y in chosen])


def main():
    torch.manual_seed(2)
    rng = np.random.default_rng(2)
    months = [list(range(2 * m, 2 * m + 2)) for m in range(MONTHS)]
    held = [clips(kinds, 250, rng) for kinds in months]
    model = nn.Sequential(nn.Linear(WIDTH, 96), nn.ReLU(), nn.Linear(96, 64), nn.ReLU(), nn.Linear(64, KINDS))
    optimizer = torch.optim.Adam(model.parameters(), lr=1.5e-3)
    memory = Memory(500, 2)

    for month, kinds in enumerate(months):
        x, y = clips(kinds, 800, rng)
        for epoch in range(5):
            model.train()
            for rows in torch.randperm(len(x)).split(40):
                inputs, target = x[rows], y[rows]
                if memory.items:
                    old_x, old_y = memory.draw(60)
                    inputs, target = torch.cat([inputs, old_x]), torch.cat([target, old_y])
                optimizer.zero_grad()
                loss = F.cross_entropy(model(inputs), target)
                loss.backward()
                optimizer.step()
        memory.add(x, y)
        model.eval()
        with torch.no_grad():
            scores = [(model(hx).argmax(1) == hy).float().mean().item() for hx, hy in held[: month + 1]]
        print(f"month {month}: loss {loss.item():.3f}  " + "  ".join(f"kinds {k}: {s:.2f}" for k, s in zip(months, scores)))


if __name__ == "__main__":
    main()
