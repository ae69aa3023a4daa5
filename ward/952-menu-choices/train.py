"""Dish a guest will choose, from one-hot answers of a questionnaire."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

CHOICES = [12, 7, 31, 4, 9]          # possible answers; some were never given
torch.manual_seed(55)
taste = [torch.randn(c, 5) * 1.3 for c in CHOICES]


def guests(n):
    answers = [torch.randint(max(2, c - 3), (n,)) for c in CHOICES]
    logits = sum(t[a] for t, a in zip(taste, answers))
    dish = torch.distributions.Categorical(logits=1.5 * logits).sample()
    one_hot = torch.cat([F.one_hot(a, c) for a, c in zip(answers, CHOICES)], 1).float()
    return one_hot, dish


train = DataLoader(TensorDataset(*guests(3000)), batch_size=50, shuffle=True)
x_val, y_val = guests(600)
model = nn.Sequential(nn.Linear(sum(CHOICES), 32), nn.ReLU(), nn.Linear(32, 5))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    model.train()
    total = 0.0
    for x, y in train:
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        out = model(x_val)
    print(f"epoch {epoch} loss {total / len(train):.4f} val {F.cross_entropy(out, y_val).item():.4f} acc {(out.argmax(1) == y_val).float().mean().item():.3f}")
