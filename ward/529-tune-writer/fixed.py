"""Next-note model for simple tunes."""
import random

import torch
import torch.nn as nn

NOTES = "cdefgab-"
rng = random.Random(2)


def tune(length=24):
    """Random walk over the scale with rests and the odd leap."""
    at, out = rng.randrange(7), []
    for _ in range(length):
        r = rng.random()
        if r < 0.15:
            out.append(7)
            continue
        at = (at + rng.choice([-1, 1])) % 7 if r < 0.85 else rng.randrange(7)
        out.append(at)
    return out


class Tunes(torch.utils.data.Dataset):
    def __init__(self, n):
        self.data = torch.tensor([tune() for _ in range(n)])

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return self.data[i, :-1], self.data[i, 1:]


class Writer(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(len(NOTES), 16)
        self.rnn = nn.GRU(16, hidden, batch_first=True)
        self.out = nn.Linear(hidden, len(NOTES))

    def forward(self, notes):
        return self.out(self.rnn(self.embed(notes))[0])


def compose(model, length=24):
    notes = [0]
    with torch.no_grad():
        for _ in range(length):
            p = torch.softmax(model(torch.tensor([notes]))[0, -1], dim=-1)
            notes.append(int(torch.multinomial(p, 1)))
    return "".join(NOTES[i] for i in notes)


def continuation_loss(model, data):
    """Loss of the note that follows a given opening of twelve notes."""
    with torch.no_grad():
        logits = model(data[:, :12])[:, -1]
    return nn.functional.cross_entropy(logits, data[:, 12]).item()


torch.manual_seed(2)
train_set, val_set = Tunes(1200), Tunes(300)
loader = torch.utils.data.DataLoader(train_set, batch_size=32, shuffle=True)
model = Writer()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(5):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x).transpose(1, 2), y)
        loss.backward()
        optimizer.step()
        total += loss.item() / len(loader)
    model.eval()
    print(f"epoch {epoch} train {total:.3f}  continuation {continuation_loss(model, val_set.data):.3f}  {compose(model)}")
