import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

"""Tag each letter with whether a vowel stands on both sides of it: both directions are needed."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"
VOWELS = set("aeiou")


def word(rng):
    w = "".join(rng.choice("aeiou" if rng.random() < 0.4 else "bcdfgklmnprst") for _ in range(rng.randint(5, 12)))
    tags = [int(0 < i < len(w) - 1 and w[i - 1] in VOWELS and w[i + 1] in VOWELS) + 2 * int(i == len(w) - 1) for i in range(len(w))]
    return torch.tensor([LETTERS.index(c) + 1 for c in w]), torch.tensor(tags)


def collate(batch):
    xs, ys = zip(*batch)
    return pad_sequence(xs, batch_first=True), pad_sequence(ys, batch_first=True, padding_value=-100)


class Tagger(nn.Module):
    def __init__(self, dim=16, hidden=20, tags=3):
        super().__init__()
        self.embed = nn.Embedding(27, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.tag = nn.Linear(2 * hidden, tags)

    def forward(self, x):
        return self.tag(self.lstm(self.embed(x))[0])


rng = random.Random(5)
words = [word(rng) for _ in range(1500)]
torch.manual_seed(5)
train = DataLoader(words[:1200], batch_size=32, shuffle=True, collate_fn=collate)
val = DataLoader(words[1200:], batch_size=300, collate_fn=collate)
model = Tagger()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss(ignore_index=-100)
for epoch in range(6):
    model.train()
    total = 0.0
    for x, y in train:
        loss = criterion(model(x).flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        total += loss.item() / len(train)
    model.eval()
    with torch.no_grad():
        x, y = next(iter(val))
        out = model(x)
        keep = y != -100
        acc = (out.argmax(-1) == y)[keep].float().mean().item()
        v = criterion(out.flatten(0, 1), y.flatten()).item()
    print(f"epoch {epoch}: train {total:.4f}  val {v:.4f}  letters right {acc:.3f}")
