"""Predict (log) value of a customer's next order from the list of earlier purchases."""
import random

import torch
import torch.nn as nn

random.seed(13)
torch.manual_seed(13)
N_ITEMS = 30
worth = torch.randn(N_ITEMS)
family = torch.randint(0, 4, (N_ITEMS,))


def customer():
    items = torch.randint(0, N_ITEMS, (random.randint(4, 20),))
    share = torch.bincount(family[items], minlength=4).float() / len(items)
    taste = worth[items].mean() * 4 + 1.5 * torch.sin(4 * share[0]) - 3 * share[1] * share[2]
    return items, (taste + random.gauss(0, 1.0)).reshape(1)


class NextOrder(nn.Module):
    def __init__(self, dim=16, hidden=32):
        super().__init__()
        self.items = nn.Embedding(N_ITEMS, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, items):
        return self.mlp(self.items(items).mean(0))


train_set = [customer() for _ in range(1600)]
valid_set = [customer() for _ in range(500)]
model = NextOrder()
optimizer = torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9)
loss_fn = nn.MSELoss()
for epoch in range(1, 9):
    model.train()
    random.shuffle(train_set)
    total = 0.0
    for items, target in train_set:
        loss = loss_fn(model(items), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        valid = sum(loss_fn(model(items), target).item() for items, target in valid_set) / len(valid_set)
    print(f"epoch {epoch} train mse {total / len(train_set):.4f} valid mse {valid:.4f}")
var = torch.cat([t for _, t in valid_set]).var().item()
print(f"variance of the target {var:.4f}, explained {1 - valid / var:.3f}")
