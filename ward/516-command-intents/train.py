import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

INTENTS = {
    "lights": (["turn", "switch"], ["on", "off"], ["lamp", "lights", "bulb"]),
    "music": (["play", "pause"], ["some", "the"], ["song", "album", "radio"]),
    "timer": (["set", "cancel"], ["my", "a"], ["timer", "alarm", "reminder"]),
    "not_lights": (["never", "don't"], ["turn", "switch"], ["lamp", "lights", "bulb"]),
    "not_music": (["never", "don't"], ["play", "pause"], ["song", "album", "radio"]),
}
FILLER = ["please", "now", "kitchen", "in", "the", "room", "hey", "could", "you", "tonight"]


def sentence(rng):
    label = rng.randrange(len(INTENTS))
    words = [rng.choice(group) for group in list(INTENTS.values())[label]]
    for _ in range(rng.randint(3, 7)):
        words.insert(rng.randrange(len(words) + 1), rng.choice(FILLER))
    return words, label


rng = random.Random(3)
corpus = [sentence(rng) for _ in range(1500)]
vocab = {w: i + 1 for i, w in enumerate(sorted({w for words, _ in corpus for w in words}))}


def collate(batch):
    ids = [torch.tensor([vocab[w] for w in words]) for words, _ in batch]
    lengths = torch.tensor([len(i) for i in ids])
    return pad_sequence(ids, batch_first=True), lengths, torch.tensor([label for _, label in batch])


class IntentModel(nn.Module):
    def __init__(self, n_words, vectors):
        super().__init__()
        self.embed = nn.Embedding(n_words, vectors.shape[1], padding_idx=0)
        self.embed.weight.data.copy_(vectors)
        self.embedder = nn.GRU(vectors.shape[1], 20, batch_first=True)
        self.classify = nn.Linear(20, len(INTENTS))

    def forward(self, ids, lengths):
        states, _ = self.embedder(self.embed(ids))
        last = states[torch.arange(len(ids)), lengths - 1]
        return self.classify(last)


torch.manual_seed(3)
vectors = torch.randn(len(vocab) + 1, 16) * 0.5          # stands in for downloaded word vectors
model = IntentModel(len(vocab) + 1, vectors)
for name, p in model.named_parameters():                  # keep the word vectors as they are
    if name.startswith("embed"):
        p.requires_grad_(False)
opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
train = DataLoader(corpus[:1200], batch_size=40, shuffle=True, collate_fn=collate)
val = DataLoader(corpus[1200:], batch_size=300, collate_fn=collate)
for epoch in range(7):
    model.train()
    total = 0.0
    for ids, lengths, y in train:
        loss = nn.functional.cross_entropy(model(ids, lengths), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() / len(train)
    model.eval()
    with torch.no_grad():
        ids, lengths, y = next(iter(val))
        out = model(ids, lengths)
    print(f"epoch {epoch}  loss {total:.4f}  val {nn.functional.cross_entropy(out, y):.4f}  acc {(out.argmax(1) == y).float().mean():.3f}")
