"""Classifies support tickets by hashed word counts."""
import random
import re

import numpy as np
import torch
from torch import nn

BUCKETS = 64
TEMPLATES = {
    0: "the {thing} does not start after the update and shows error {word}",
    1: "i was charged twice for my {thing} please refund the {word} payment",
    2: "how can i change the {word} address of my {thing} account",
}
THINGS = "printer router camera tablet phone monitor keyboard speaker".split()
WORDS = "blue second monthly old new last first annual home work".split()


def fix_random(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.backends.cudnn.deterministic = True


def ticket(topic):
    text = TEMPLATES[topic].format(thing=random.choice(THINGS), word=random.choice(WORDS))
    words = text.split()
    return " ".join(w for w in words if random.random() > 0.15)


def features(text: str) -> torch.Tensor:
    counts = torch.zeros(BUCKETS)
    for word in re.findall(r"[a-z]+", text):
        counts[hash(word) % BUCKETS] += 1
    return counts


fix_random(99)
topics = [random.randrange(3) for _ in range(900)]
inputs = torch.stack([features(ticket(t)) for t in topics])
targets = torch.tensor(topics)
model = nn.Sequential(nn.Linear(BUCKETS, 24), nn.ReLU(), nn.Dropout(0.2), nn.Linear(24, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(6):
    model.train()
    order = torch.randperm(700)
    for rows in order.split(50):
        loss = nn.functional.cross_entropy(model(inputs[rows]), targets[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        logits = model(inputs[700:])
        val = nn.functional.cross_entropy(logits, targets[700:]).item()
        accuracy = (logits.argmax(1) == targets[700:]).float().mean().item()
    print(f"epoch {epoch + 1} train {loss.item():.3f} val {val:.3f} acc {accuracy:.3f}")
