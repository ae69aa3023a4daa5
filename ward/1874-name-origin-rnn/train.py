"""Guess where an invented place name comes from, one name per step (names have different lengths)."""
import random
import string

import torch
import torch.nn as nn

ENDINGS = {
    "north": (["sk", "bj", "hv", "gr", "st"], ["o", "a", "e"], ["vik", "heim", "dal", "foss", "holm"]),
    "south": (["c", "m", "v", "l", "p"], ["a", "i", "o", "u"], ["ella", "ino", "ara", "osa", "etto"]),
    "east": (["zh", "kr", "br", "dv", "ch"], ["o", "y", "e"], ["grad", "ovka", "insk", "nitsa", "slav"]),
    "west": (["tr", "ll", "br", "pen", "ab"], ["e", "y", "w", "a"], ["ton", "wyn", "ford", "mouth", "combe"]),
}
ORIGINS = list(ENDINGS)
LETTERS = string.ascii_lowercase


def invent(origin):
    first, vowels, last = ENDINGS[origin]
    name = random.choice(first) + random.choice(vowels)
    for _ in range(random.randint(0, 2)):
        name += random.choice(first + list("rnlt")) + random.choice(vowels)
    if random.random() < 0.85:
        name += random.choice(last)
    return name


def name_to_tensor(name):
    t = torch.zeros(len(name), 1, len(LETTERS))
    for i, c in enumerate(name):
        t[i, 0, LETTERS.index(c)] = 1
    return t


class NameRNN(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.rnn = nn.GRU(len(LETTERS), hidden)
        self.out = nn.Linear(hidden, len(ORIGINS))

    def forward(self, name):
        _, h = self.rnn(name)
        return self.out(h[-1])


def dataset(n):
    rows = []
    for _ in range(n):
        k = random.randrange(len(ORIGINS))
        rows.append((name_to_tensor(invent(ORIGINS[k])), torch.tensor([k])))
    return rows


def evaluate(model, rows):
    model.eval()
    loss = hits = 0
    with torch.no_grad():
        for name, origin in rows:
            out = model(name)
            loss += nn.functional.cross_entropy(out, origin).item()
            hits += int(out.argmax(1) == origin)
    model.train()
    return loss / len(rows), hits / len(rows)


random.seed(13)
torch.manual_seed(13)
train, test = dataset(2500), dataset(400)
model = NameRNN()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
criterion = nn.CrossEntropyLoss()

current = 0.0
for epoch in range(1, 4):
    random.shuffle(train)
    for i, (name, origin) in enumerate(train, 1):
        loss = criterion(model(name), origin)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        current += loss.item()
        if i % 1250 == 0:
            test_loss, test_acc = evaluate(model, test)
            print(f"epoch {epoch} name {i:4d} train {current / 1250:.4f} test {test_loss:.4f} acc {test_acc:.3f}")
            current = 0.0
