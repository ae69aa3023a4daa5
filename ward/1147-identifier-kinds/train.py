# Guess from its letters alone what kind of thing an identifier names (function, private slot, class, index).
import random

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

ALPHABET = "_abcdefghijklmnopqrstuvwxyz0123456789"
CHARS = {c: i + 1 for i, c in enumerate(ALPHABET)}          # 0 is padding
WIDTH = 20


def identifiers(n, seed):
    rng = random.Random(seed)
    verbs = "get set load save parse make find read write open close send".split()
    nouns = "user file page item list node key path data row line text".split()
    rows = []
    for _ in range(n):
        kind = rng.randrange(4)
        verb, noun, other = rng.choice(verbs), rng.choice(nouns), rng.choice(nouns)
        name = [f"{verb}_{noun}", f"{noun}_{verb}", f"{noun}_{other}_{verb}er", f"{noun}_by_{other}"][kind]
        if rng.random() < 0.3:
            name += str(rng.randrange(10))
        rows.append((torch.tensor([CHARS[c] for c in name]), kind))
    return rows


def collate(batch):
    """Names end at the right edge: the last state has just read the last letter."""
    ids = torch.zeros(len(batch), WIDTH, dtype=torch.long)
    for row, (name, _) in enumerate(batch):
        ids[row, WIDTH - len(name):] = name
    return ids, torch.tensor([kind for _, kind in batch])


def collate_eval(batch):
    ids = pad_sequence([name for name, _ in batch], batch_first=True)
    ids = nn.functional.pad(ids, (0, WIDTH - ids.shape[1]))
    return ids, torch.tensor([kind for _, kind in batch])


class NameGRU(nn.Module):
    def __init__(self, dim=16, hidden=24, classes=4):
        super().__init__()
        self.embed = nn.Embedding(len(CHARS) + 1, dim, padding_idx=0)
        self.gru = nn.GRU(dim, hidden, batch_first=True)
        self.out = nn.Linear(hidden, classes)

    def forward(self, ids):
        states, _ = self.gru(self.embed(ids))
        return self.out(states[:, -1])


def main():
    torch.manual_seed(2)
    train = DataLoader(identifiers(1600, seed=5), batch_size=64, shuffle=True, collate_fn=collate)
    valid = DataLoader(identifiers(400, seed=6), batch_size=200, collate_fn=collate_eval)
    model = NameGRU()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(1, 6):
        model.train()
        loss_sum = 0.0
        for ids, kind in train:
            loss = nn.functional.cross_entropy(model(ids), kind)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            loss_sum += loss.item()
        model.eval()
        val_sum, hits = 0.0, 0
        with torch.no_grad():
            for ids, kind in valid:
                out = model(ids)
                val_sum += nn.functional.cross_entropy(out, kind).item()
                hits += (out.argmax(1) == kind).sum().item()
        print(f"epoch {epoch}: train {loss_sum / len(train):.3f} valid {val_sum / len(valid):.3f} acc {hits / 400:.3f}")


main()
