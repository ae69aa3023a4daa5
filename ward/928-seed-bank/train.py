"""Seed varieties from fourteen measured traits."""
import torch
import torch.nn as nn

torch.manual_seed(15)
VARIETIES = 7
KEEP = 0.9
centres = torch.randn(VARIETIES, 2, 14)


def measure(n):
    y = torch.randint(VARIETIES, (n,))
    form = torch.randint(2, (n,))
    return 0.9 * centres[y, form] + 0.7 * torch.randn(n, 14), y


class SeedNet(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.fc1 = nn.Linear(14, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, VARIETIES)
        self.drop = nn.Dropout(KEEP)

    def forward(self, x):
        x = self.drop(torch.relu(self.fc1(x)))
        x = self.drop(torch.relu(self.fc2(x)))
        return self.fc3(x)


x, y = measure(2400)
xv, yv = measure(500)
net = SeedNet()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(6):
    net.train()
    total, hits = 0.0, 0
    for idx in torch.randperm(len(x)).split(40):
        out = net(x[idx])
        loss = loss_fn(out, y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
        hits += (out.argmax(1) == y[idx]).sum().item()
    net.eval()
    with torch.no_grad():
        out = net(xv)
        val, acc = loss_fn(out, yv).item(), (out.argmax(1) == yv).float().mean().item()
    print(f"epoch {epoch}: loss {total / len(x):.4f} acc {hits / len(x):.3f} val {val:.4f} acc {acc:.3f}")
