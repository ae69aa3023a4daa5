"""Urgency of emergency calls: first the clear cases, then the unclear ones, then all of them."""
import numpy as np
import torch
from sklearn.metrics import accuracy_score
from torch import nn

rng = np.random.default_rng(77)
torch.manual_seed(77)
centres = rng.normal(0, 1.6, (4, 14))
label = rng.integers(0, 4, 3600)
spread = rng.uniform(0.4, 1.6, 3600)
calls = (centres[label] + spread[:, None] * rng.normal(size=(3600, 14))).astype(np.float32)

train, test = slice(0, 2800), slice(2800, 3600)
clear = np.flatnonzero(spread[train] < 0.9)
unclear = np.flatnonzero(spread[train] >= 0.9)
clear_test = calls[test][spread[test] < 0.9], label[test][spread[test] < 0.9]


class Urgency(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(14, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, x):
        return self.layers(x)

    @torch.no_grad()
    def predict(self, rows):
        self.eval()
        out = self(torch.from_numpy(rows)).argmax(1).numpy()
        self.train()
        return out


def lesson(model, optimizer, rows, epochs):
    for _ in range(epochs):
        for part in np.array_split(rng.permutation(rows), len(rows) // 40):
            loss = nn.functional.cross_entropy(model(torch.from_numpy(calls[part])), torch.from_numpy(label[part]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return loss.item()


model = Urgency()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for name, rows, epochs in (("clear", clear, 4), ("unclear", unclear, 4), ("all", np.arange(2800), 4)):
    loss = lesson(model, optimizer, rows, epochs)
    everything = accuracy_score(label[test], model.predict(calls[test]))
    easy = accuracy_score(clear_test[1], model.predict(clear_test[0]))
    print(f"{name:8s} loss {loss:.3f}  test {everything:.3f}  clear ones {easy:.3f}")
