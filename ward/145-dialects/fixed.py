import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(12)
torch.manual_seed(12)

SYLLABLES = {
    "northern": "kar sten vik holm grun tor bjo lund fja ska".split(),
    "coastal": "lua mae nia tol ora peli ani sua kai mo".split(),
    "highland": "zhar khe tsov dra gzi vakh mur izh tan qo".split(),
    "island": "kar lua tan mo ora vik sua ani tor mur".split(),
    "valley": "ste nol pia gru ver lan dio sca fra bel".split(),
}
BUCKETS = 1024


def phrase(dialect):
    own, everybody = SYLLABLES[dialect], sum(SYLLABLES.values(), [])
    word = lambda: "".join(random.choice(own if random.random() < 0.7 else everybody) for _ in range(random.randint(2, 3)))
    return " ".join(word() for _ in range(random.randint(2, 4)))


def trigrams(text, size=24):
    text = "^" + text + "$"
    ids = [1 + sum(ord(c) * p for c, p in zip(text[i:i + 3], (1, 131, 17161))) % (BUCKETS - 1) for i in range(len(text) - 2)]
    return (ids + [0] * size)[:size]


def corpus(per_dialect):
    xs, ys = [], []
    for label, dialect in enumerate(SYLLABLES):
        for _ in range(per_dialect):
            xs.append(trigrams(phrase(dialect)))
            ys.append(label)
    return torch.tensor(xs), torch.tensor(ys)


class BagOfTrigrams(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.bag = nn.EmbeddingBag(BUCKETS, dim, mode="mean", padding_idx=0)
        self.mlp = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, len(SYLLABLES)))

    def forward(self, ids):
        return self.mlp(self.bag(ids))


train_x, train_y = corpus(640)
valid_x, valid_y = corpus(80)
model = BagOfTrigrams()
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9, weight_decay=1e-4)
batch_size = 64
for epoch in range(10):
    model.train()
    running = 0.0
    order = torch.randperm(len(train_y))
    for start in range(0, len(train_y), batch_size):
        ids = order[start:start + batch_size]
        x, y = train_x[ids], train_y[ids]
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item() * len(y)
    model.eval()
    with torch.no_grad():
        out = model(valid_x)
        print("epoch %d  train %.3f  valid %.3f  acc %.3f" % (
            epoch, running / len(train_y), F.cross_entropy(out, valid_y), (out.argmax(1) == valid_y).float().mean()))
