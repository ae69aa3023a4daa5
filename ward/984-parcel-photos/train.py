"""Photos of parcels come one at a time, as they are taken."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(6)
digits = load_digits()
photos = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
kinds = torch.tensor(digits.target)
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

seen = 0.0
for count, i in enumerate(torch.randperm(1500).tolist(), start=1):
    loss = F.cross_entropy(net(photos[i : i + 1]), kinds[i : i + 1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    seen += loss.item()
    if count % 300 == 0:
        print(f"{count} photos, mean loss {seen / 300:.3f}")
        seen = 0.0
with torch.no_grad():
    print(f"accuracy on new ones {(net(photos[1500:]).argmax(1) == kinds[1500:]).float().mean().item():.3f}")
