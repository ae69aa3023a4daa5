import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(5)
torch.manual_seed(5)
N_CLASSES, N_FEATURES = 8, 16
centres = rng.normal(size=(N_CLASSES, N_FEATURES)) * 1.3


def recordings(n):
    """Bird calls as acoustic descriptors; the true species is known to us only."""
    species = rng.integers(0, N_CLASSES, n)
    return centres[species] + rng.normal(size=(n, N_FEATURES)), species


def ask_volunteers(species, n_votes=5, skill=0.84):
    votes = np.repeat(species[:, None], n_votes, axis=1)
    slips = rng.random(votes.shape) > skill
    votes[slips] = rng.integers(0, N_CLASSES, slips.sum())
    return votes


def aggregate(votes):
    counts = np.stack([(votes == c).sum(axis=1) for c in range(N_CLASSES)], axis=1)
    return counts.argmax(axis=1)


class Data:
    def __init__(self, x, y):
        self.x = torch.tensor(x, dtype=torch.float32)
        self.y = torch.tensor(y, dtype=torch.long)

    def batches(self, size):
        for rows in torch.randperm(len(self.y)).split(size):
            yield self.x[rows], self.y[rows]


calls, species = recordings(6000)
train = Data(calls, aggregate(ask_volunteers(species)))
calls, species = recordings(1500)
test = Data(calls, species)              # labelled by experts
mean, std = train.x.mean(0), train.x.std(0)
train.x, test.x = (train.x - mean) / std, (test.x - mean) / std

model = nn.Sequential(nn.Linear(N_FEATURES, 48), nn.GELU(), nn.Dropout(0.1), nn.Linear(48, N_CLASSES))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
criterion = nn.CrossEntropyLoss()

for epoch in range(20):
    model.train()
    total = correct = 0
    for x, y in train.batches(64):
        optimizer.zero_grad()
        out = model(x)
        loss = criterion(out, y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
        correct += (out.argmax(1) == y).sum().item()
    scheduler.step()
    model.eval()
    with torch.no_grad():
        out = model(test.x)
    print(f"epoch {epoch + 1:2d}: train loss {total / len(train.y):.3f} acc {correct / len(train.y):.3f} | "
          f"test loss {criterion(out, test.y).item():.3f} acc {(out.argmax(1) == test.y).float().mean().item():.3f}")
