"""Tag every word of a sentence: determiner, adjective, noun, verb, adverb, preposition."""
import random
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

random.seed(2)
torch.manual_seed(2)
LEXICON = {"DET": "the a every some this".split(), "ADJ": "old quick light green cold fast round".split(),
           "NOUN": "dog light house green walk river cook fish stone".split(), "VERB": "saw walk cook light fish found round moved".split(),
           "ADV": "fast slowly often cold here".split(), "PREP": "in on under round near".split()}
TAGS = list(LEXICON)
VOCAB = {w: i + 1 for i, w in enumerate(sorted({w for ws in LEXICON.values() for w in ws}))}


def noun_phrase():
    return ["DET"] + ["ADJ"] * random.choice([0, 0, 1, 2]) + ["NOUN"]


def sentence():
    tags = noun_phrase() + ["VERB"] + (noun_phrase() if random.random() < 0.6 else [])
    tags += ["ADV"] if random.random() < 0.3 else []
    for _ in range(random.choice([0, 0, 1, 2, 3])):
        tags += ["PREP"] + noun_phrase()
    words = [random.choice(LEXICON[t]) for t in tags]
    return torch.tensor([VOCAB[w] for w in words]), torch.tensor([TAGS.index(t) for t in tags])


def collate(rows):
    words = pad_sequence([w for w, _ in rows], batch_first=True)
    tags = pad_sequence([t for _, t in rows], batch_first=True, padding_value=-100)
    return words, tags


class Tagger(nn.Module):
    def __init__(self, dim=24, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(len(VOCAB) + 1, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, len(TAGS))

    def forward(self, words):
        return self.out(self.lstm(self.embed(words))[0])


corpus = list({tuple(w.tolist()): (w, t) for w, t in (sentence() for _ in range(2600))}.values())
train_loader = DataLoader(corpus[:-400], batch_size=32, shuffle=True, collate_fn=collate)
val_loader = DataLoader(corpus[-400:], batch_size=100, collate_fn=collate)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss(ignore_index=-100)
for epoch in range(1, 7):
    model.train()
    total = 0.0
    for words, tags in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(words).flatten(0, 1), tags.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        total += loss.item()
    model.eval()
    right = count = 0
    with torch.no_grad():
        for words, tags in val_loader:
            real = tags != -100
            right += (model(words).argmax(-1) == tags)[real].sum().item()
            count += real.sum().item()
    print(f"epoch {epoch} loss {total / len(train_loader):.4f} val tag accuracy {right / count:.4f}")
