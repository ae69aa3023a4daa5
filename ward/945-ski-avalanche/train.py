"""Avalanche danger (five levels) with probabilities for the bulletin."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(35)
LEVELS = 5
TEMPERATURE = 0.125
centres = torch.randn(LEVELS, 8) * 0.75


def days(n):
    y = torch.randint(LEVELS, (n,))
    return centres[y] + torch.randn(n, 8), y


class Bulletin(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, LEVELS))

    def forward(self, x):
        logits = self.net(x)
        if self.training:
            return logits
        return logits / TEMPERATURE


def ece(prob, y, bins=10):
    conf, pred = prob.max(1)
    right = (pred == y).float()
    gap = 0.0
    for k in range(bins):
        m = (conf > k / bins) & (conf <= (k + 1) / bins)
        if m.any():
            gap += m.float().mean().item() * abs(right[m].mean().item() - conf[m].mean().item())
    return gap


train = DataLoader(TensorDataset(*days(2400)), batch_size=40, shuffle=True)
x_val, y_val = days(800)
model = Bulletin()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
ce = nn.CrossEntropyLoss()
for epoch in range(7):
    model.train()
    total = 0.0
    for x, y in train:
        loss = ce(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() / len(train)
    model.eval()
    with torch.no_grad():
        out = model(x_val)
        prob = out.softmax(1)
    acc = (prob.argmax(1) == y_val).float().mean().item()
    print(f"epoch {epoch} train {total:.4f} val {ce(out, y_val).item():.4f} acc {acc:.3f} ece {ece(prob, y_val):.3f}")
