"""Predict (log) value of a customer's next order from the list of earlier purchases."""
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence

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

    def forward(self, items, lengths):
        mask = (torch.arange(items.shape[1]) < lengths[:, None]).float().unsqueeze(2)
        return self.mlp((self.items(items) * mask).sum(1) / lengths[:, None])


def batches(rows, size):
    for i in range(0, len(rows), size):
        part = rows[i:i + size]
        yield (pad_sequence([x for x, _ in part], batch_first=True), torch.tensor([len(x) for x, _ in part]),
               torch.stack([t for _, t in part]))


train_set = [customer() for _ in range(1600)]
valid_set = [customer() for _ in range(500)]
model = NextOrder()
optimizer = torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9)
loss_fn = nn.MSELoss()
for epoch in range(1, 9):
    model.train()
    random.shuffle(train_set)
    total = 0.0
    for items, lengths, target in batches(train_set, 16):
        loss = loss_fn(model(items, lengths), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(target)
    model.eval()
    with torch.no_grad():
        valid = sum(loss_fn(model(*x), t).item() * len(t) for *x, t in batches(valid_set, 100)) / len(valid_set)
    print(f"epoch {epoch} train mse {total / len(train_set):.4f} valid mse {valid:.4f}")
var = torch.cat([t for _, t in valid_set]).var().item()
print(f"variance of the target {var:.4f}, explained {1 - valid / var:.3f}")
