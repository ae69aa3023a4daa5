"""Tell error lines from ordinary ones in a server log."""
import random
import re

import torch
from torch import nn
from torch.utils.data import DataLoader

random.seed(1)
torch.manual_seed(1)
WORDS = "open close read write timeout retry refused ok done user disk net cache miss hit slow fail start stop warn".split()
PATTERNS = [re.compile(rf"(?:^|\s)(?:{w}|{w[:-1]}[a-z]?)(?:\s|$)") for w in WORDS] + [re.compile(rf"\b{a}\b.*\b{b}\b") for a in WORDS for b in WORDS[:6]]


def line():
    words = random.choices(WORDS, k=24)
    bad = ("timeout" in words) + ("refused" in words) + ("fail" in words) >= 2
    return " ".join(words), int(bad)


def vectorise(batch):
    rows = [[float(len(p.findall(text))) for p in PATTERNS] for text, _ in batch]
    return torch.tensor(rows), torch.tensor([label for _, label in batch])


lines = [line() for _ in range(900)]
x_all, y_all = vectorise(lines)
loader = DataLoader(torch.utils.data.TensorDataset(x_all, y_all), batch_size=25, shuffle=True)
net = nn.Sequential(nn.Linear(len(PATTERNS), 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(14):
    for x, y in loader:
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, round(loss.item(), 4))
