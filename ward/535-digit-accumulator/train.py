from dataclasses import dataclass

import torch
import torch.nn as nn
from sklearn.datasets import load_digits


@dataclass
class Plan:
    micro_batch: int = 2
    accumulate: int = 6
    lr: float = 4e-3
    updates: int = 120


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 12, 3, stride=2, padding=1), nn.BatchNorm2d(12), nn.ReLU(),
                                  nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.BatchNorm2d(24), nn.ReLU())
        self.fc = nn.Sequential(nn.Flatten(), nn.Linear(24 * 4, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 10))

    def forward(self, x):
        return self.fc(self.conv(x))


plan = Plan()
torch.manual_seed(0)
d = load_digits()
x = torch.tensor(d.images, dtype=torch.float32)[:, None]
x = (x - x.mean()) / x.std()
y = torch.tensor(d.target)
perm = torch.randperm(len(y))
train, test = perm[:1437], perm[1437:]
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=plan.lr)
loss_fn = nn.CrossEntropyLoss()


def micro_batches():
    while True:
        for idx in train[torch.randperm(len(train))].split(plan.micro_batch):
            if len(idx) == plan.micro_batch:
                yield x[idx], y[idx]


stream = micro_batches()
total = 0.0
for update in range(1, plan.updates + 1):
    net.train()
    opt.zero_grad()
    for _ in range(plan.accumulate):
        xb, yb = next(stream)
        loss = loss_fn(net(xb), yb) / plan.accumulate
        loss.backward()
        total += loss.item()
    opt.step()
    if update % 20 == 0:
        net.eval()
        with torch.no_grad():
            out = net(x[test])
        print(f"update {update:3d}  train {total / 20:.4f}  test {loss_fn(out, y[test]):.4f}  acc {(out.argmax(1) == y[test]).float().mean():.3f}")
        total = 0.0
