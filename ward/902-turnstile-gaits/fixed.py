"""Who walked through the turnstile? GRU over accelerometer recordings."""
import math
import random
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Recording:
    person: int
    signal: list
    seconds: float


def record(rng):
    person = rng.randrange(4)
    length = 16 if rng.random() > 0.04 else 6
    pace, lean = 0.4 + 0.3 * person, 0.8 * (person % 2) - 0.4
    start = rng.random() * 6.28
    signal = [(math.sin(pace * t + start) + rng.gauss(0, 0.3), math.cos(2 * pace * t + start) + lean + rng.gauss(0, 0.3)) for t in range(length)]
    return Recording(person, signal, length / 12)


def prepare(recordings):
    signals = [r.signal for r in recordings if r.seconds >= 1.0]
    people = [r.person for r in recordings if r.seconds >= 1.0]
    pairs = list(zip(signals, people))
    x = torch.tensor([s for s, _ in pairs])
    y = torch.tensor([p for _, p in pairs])
    return x, y


def batches(x, y, size):
    for idx in torch.randperm(len(x)).split(size):
        yield x[idx], y[idx]


class Gait(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(2, 24, batch_first=True)
        self.head = nn.Linear(24, 4)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.head(out[:, 4:].mean(1))


rng = random.Random(5)
torch.manual_seed(5)
x, y = prepare([record(rng) for _ in range(1000)])
xv, yv = prepare([record(rng) for _ in range(300)])
model = Gait()
opt = torch.optim.Adam(model.parameters(), lr=8e-3)
for epoch in range(7):
    model.train()
    losses = []
    for xb, yb in batches(x, y, 25):
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        logits = model(xv)
        vl = nn.functional.cross_entropy(logits, yv).item()
        va = (logits.argmax(1) == yv).float().mean().item()
    print(f"[{epoch}] loss {sum(losses) / len(losses):.4f} | held out {vl:.4f} acc {va:.3f}")
