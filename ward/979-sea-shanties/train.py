"""A small GRU that learns to write the next letter."""

import torch
import torch.nn.functional as F
from torch import nn

VERSE = (
    "what shall we do with the drunken sailor early in the morning way hay and up she rises early in the morning "
    "put him in the long boat till he is sober early in the morning haul away the bowline the bowline haul "
) * 12
letters = sorted(set(VERSE))
index = {c: i for i, c in enumerate(letters)}
data = torch.tensor([index[c] for c in VERSE])


class Writer(nn.Module):
    def __init__(self, size, width):
        super().__init__()
        self.embed = nn.Embedding(size, 24)
        self.rnn = nn.GRU(24, width, batch_first=True)
        self.out = nn.Linear(width, size)

    def forward(self, x):
        h, _ = self.rnn(self.embed(x))
        return self.out(h)


def batch(n=24, length=32):
    starts = torch.randint(0, len(data) - length - 1, (n,)).tolist()
    x = torch.stack([data[s : s + length] for s in starts])
    y = torch.stack([data[s + 1 : s + length + 1] for s in starts])
    return x, y


config = {"lr": 2e-3, "steps": 40, "width": 96}
torch.manual_seed(8)
model = Writer(len(letters), config["width"])
optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
for step in range(config["steps"]):
    x, y = batch()
    logits = model(x)
    loss = F.cross_entropy(logits.reshape(-1, len(letters)), y.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 10 == 0 or step == config["steps"] - 1:
        print(f"step {step} loss {loss.item():.3f}")
