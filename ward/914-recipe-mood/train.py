"""Is a recipe sweet, savoury or sour? Embedding + LSTM over word ids."""
import random
from collections import Counter

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

FLAVOUR = [
    "sugar honey cream vanilla cocoa caramel syrup berry".split(),
    "salt pepper beef garlic onion stock bacon thyme".split(),
    "lemon vinegar lime pickle yoghurt rhubarb sumac tamarind".split(),
]
FILLER = "add the a mix stir bowl until pan heat with into slowly cup spoon oven serve then cool water let rest ten minutes".split()


def recipes(n, rng):
    out = []
    for _ in range(n):
        kind = rng.randrange(3)
        words = [rng.choice(FLAVOUR[kind]) if rng.random() < 0.22 else rng.choice(FILLER) for _ in range(rng.randint(9, 14))]
        words[rng.randrange(len(words))] = rng.choice(FLAVOUR[kind])
        if rng.random() < 0.3:
            words.append(rng.choice(FLAVOUR[(kind + 1) % 3]))
        out.append((words, kind))
    return out


class Vocab:
    def __init__(self, texts):
        counts = Counter(w for words, _ in texts for w in words)
        self.index = {w: i + 2 for i, (w, _) in enumerate(counts.most_common())}

    def encode(self, words):
        return torch.tensor([self.index.get(w, 1) for w in words])


class Mood(nn.Module):
    def __init__(self, n_words):
        super().__init__()
        self.emb = nn.Embedding(n_words, 16, padding_idx=0)
        self.rnn = nn.LSTM(16, 24, batch_first=True)
        self.out = nn.Linear(24, 3)

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        mask = (ids != 0).unsqueeze(2).float()
        return self.out((h * mask).sum(1) / mask.sum(1))


def make_loader(texts, vocab, shuffle):
    def collate(items):
        return pad_sequence([vocab.encode(w) for w, _ in items], batch_first=True), torch.tensor([k for _, k in items])
    return DataLoader(texts, batch_size=32, shuffle=shuffle, collate_fn=collate)


rng = random.Random(23)
torch.manual_seed(23)
train_texts, val_texts = recipes(800, rng), recipes(320, rng)
vocab = Vocab(train_texts)
train = make_loader(train_texts, vocab, shuffle=True)
val = make_loader(val_texts, Vocab(val_texts), shuffle=False)
model = Mood(len(vocab.index) + 2)
opt = torch.optim.Adam(model.parameters(), lr=6e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(5):
    model.train()
    total = 0.0
    for ids, kind in train:
        loss = loss_fn(model(ids), kind)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    model.eval()
    hits, vloss = 0, 0.0
    with torch.no_grad():
        for ids, kind in val:
            out = model(ids)
            vloss += loss_fn(out, kind).item()
            hits += (out.argmax(1) == kind).sum().item()
    print(f"epoch {epoch}: train {total / len(train):.4f} val {vloss / len(val):.4f} acc {hits / len(val_texts):.3f}")
