"""Letter by letter through the source of the json package."""
import inspect
import json.decoder
import json.encoder
import json.scanner

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(2)
text = "".join(inspect.getsource(m) for m in (json.decoder, json.encoder, json.scanner))
alphabet = sorted(set(text))
codes = torch.tensor([alphabet.index(c) for c in text])


class Letters(nn.Module):
    def __init__(self, size, width=80):
        super().__init__()
        self.embedding = nn.Embedding(size, 24)
        self.gru = nn.GRU(24, width, batch_first=True)
        self.decode = nn.Linear(width, size)

    def forward(self, x):
        out, _ = self.gru(self.embedding(x))
        return self.decode(out)


settings = dict(steps=450, window=32, batch=16, rate=0.1)
model = Letters(len(alphabet))
optimizer = torch.optim.Adam(model.parameters(), lr=settings["rate"])

mean = 0.0
for step in range(1, settings["steps"] + 1):
    at = torch.randint(0, len(codes) - settings["window"] - 1, (settings["batch"],))
    piece = torch.stack([codes[i:i + settings["window"] + 1] for i in at])
    loss = F.cross_entropy(model(piece[:, :-1]).transpose(1, 2), piece[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    mean += loss.item()
    if step % 50 == 0:
        print(f"{step:4d}  {mean / 50:.3f}")
        mean = 0.0
