import torch
import torch.nn as nn
from sklearn.datasets import make_moons

torch.manual_seed(6)


class Branch(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a = nn.Linear(width, width)
        self.act = nn.ReLU6()
        self.b = nn.Linear(width, width)
        nn.init.zeros_(self.b.weight)
        nn.init.zeros_(self.b.bias)

    def forward(self, x):
        return x + self.b(self.act(self.a(x)))


X, y = make_moons(3000, noise=0.2, random_state=6)
X = torch.tensor(X, dtype=torch.float32)
X = (X - X[:2000].mean(0)) / X[:2000].std(0)
y = torch.tensor(y, dtype=torch.float32).unsqueeze(1)
net = nn.Sequential(nn.Linear(2, 32), nn.ReLU6(), *[Branch(32) for _ in range(6)], nn.Linear(32, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)

for epoch in range(1, 13):
    net.train()
    running = 0.0
    for idx in torch.randperm(2000).split(80):
        optimizer.zero_grad()
        loss = criterion(net(X[idx]), y[idx])
        loss.backward()
        optimizer.step()
        running += loss.item() * len(idx) / 2000
    net.eval()
    with torch.no_grad():
        out = net(X[2000:])
        zero = (net[1](net[0](X[2000:])) == 0).float().mean().item()
    acc = ((out > 0) == y[2000:].bool()).float().mean().item()
    print(f"epoch {epoch:2d} loss {running:.4f} val {criterion(out, y[2000:]).item():.4f} acc {acc:.3f} zeros in the first layer {zero:.2f}")
