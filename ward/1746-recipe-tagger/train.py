"""Tag the words of ingredient lines: quantity, unit, name, note or other."""
import random
from collections import Counter

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

TAGS = ["other", "quantity", "unit", "name", "note"]
PAD_TAG = -100
QTY = "1 2 3 4 6 8 half quarter dozen".split()
UNIT = "cup cups tbsp tsp gram grams pound can clove sprig".split()
NAME = "flour butter sugar salt garlic basil tomato onion milk rice lemon chicken pepper orange".split()
NOTE = "chopped diced melted fresh ground sifted peeled".split()
TALK = ("then you take about and add it to the big bowl while stirring slowly until the mixture of everything looks right so that "
        "my grandmother used say this is how we did at home every sunday with love if have time or can wait for").split()


def line(rng):
    words = [(w, "other") for w in rng.choices(TALK, k=rng.randint(6, 22))]
    if rng.random() < 0.75:
        item = [(rng.choice(QTY), "quantity"), (rng.choice(UNIT), "unit")]
        if rng.random() < 0.4:
            item.append((rng.choice(NOTE), "note"))
        item.append((rng.choice(NAME), "name"))
        at = rng.randint(0, len(words))
        words[at:at] = item
    if rng.random() < 0.3:  # a pepper that nobody is asked to add is only talk
        words += [("not", "other"), (rng.choice(NAME), "other")]
    return [w for w, _ in words], [TAGS.index(t) for _, t in words]


class Lines(Dataset):
    def __init__(self, rows, vocab):
        self.rows = [(torch.tensor([vocab.get(w, 1) for w in ws]), torch.tensor(ts)) for ws, ts in rows]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    longest = max(len(x) for x, _ in rows)
    x = torch.zeros(len(rows), longest, dtype=torch.long)
    y = torch.full((len(rows), longest), PAD_TAG)
    for i, (a, b) in enumerate(rows):
        x[i, :len(a)], y[i, :len(b)] = a, b
    return x, y


class Tagger(nn.Module):
    def __init__(self, n_words, dim=24, hidden=24):
        super().__init__()
        self.emb = nn.Embedding(n_words, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, len(TAGS))

    def forward(self, x):
        return self.out(self.lstm(self.emb(x))[0])


def main():
    rng = random.Random(3)
    torch.manual_seed(3)
    rows, held = [line(rng) for _ in range(1600)], [line(rng) for _ in range(400)]
    vocab = {w: i + 2 for i, w in enumerate(sorted({w for ws, _ in rows for w in ws}))}
    train_dl = DataLoader(Lines(rows, vocab), batch_size=32, shuffle=True, collate_fn=collate)
    val_dl = DataLoader(Lines(held, vocab), batch_size=100, collate_fn=collate)

    counts = Counter(t for _, ts in rows for t in ts)
    weight = torch.tensor([(sum(counts.values()) / (len(TAGS) * counts[k])) ** 0.5 for k in range(len(TAGS))])
    print("tags", dict(counts), "weights", [round(w, 2) for w in weight.tolist()])
    model = Tagger(len(vocab) + 2)
    criterion = nn.CrossEntropyLoss(weight=weight, ignore_index=PAD_TAG)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(1, 9):
        model.train()
        total = 0.0
        for x, y in train_dl:
            loss = criterion(model(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        vloss, hit, all_ = 0.0, torch.zeros(len(TAGS)), torch.zeros(len(TAGS))
        with torch.no_grad():
            for x, y in val_dl:
                out = model(x)
                vloss += criterion(out.flatten(0, 1), y.flatten()).item()
                for k in range(len(TAGS)):
                    hit[k] += (out.argmax(2)[y == k] == k).sum()
                    all_[k] += (y == k).sum()
        print(f"epoch {epoch} train {total / len(train_dl):.4f} val {vloss / len(val_dl):.4f} recall "
              + " ".join(f"{t} {r:.3f}" for t, r in zip(TAGS, (hit / all_).tolist())))


if __name__ == "__main__":
    main()
