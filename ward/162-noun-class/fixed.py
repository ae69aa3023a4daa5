"""Guess the declension class of made-up nouns from their letters (bi-LSTM)."""
import argparse
import random
import string

import torch
from torch import nn
from torch.utils.data import DataLoader

ENDINGS = {0: ["a", "ia", "ina"], 1: ["us", "os", "or"], 2: ["um", "on", "en"], 3: ["is", "es", "ix"]}
STOI = {c: i + 1 for i, c in enumerate(string.ascii_lowercase)}


def noun(rng):
    k = rng.randrange(4)
    stem = "".join(rng.choice("bcdfglmnprstv") + rng.choice("aeiou") for _ in range(rng.randint(1, 3))) + rng.choice("bdlmnrt")
    return stem + rng.choice(ENDINGS[k]), k


def collate(batch):
    x = torch.zeros(len(batch), 12, dtype=torch.long)
    for i, (word, _) in enumerate(batch):
        ids = [STOI[c] for c in word][-12:]
        x[i, 12 - len(ids):] = torch.tensor(ids)
    return x, torch.tensor([k for _, k in batch])


class Tagger(nn.Module):
    def __init__(self, emb=16, hidden=32):
        super().__init__()
        self.emb = nn.Embedding(27, emb, padding_idx=0)
        self.lstm = nn.LSTM(emb, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, 4)

    def forward(self, x):
        h, _ = self.lstm(self.emb(x))
        return self.fc(h.mean(1))


def main(argv=None):
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--bs", type=int, default=40)
    args = ap.parse_args(argv)
    rng = random.Random(5)
    torch.manual_seed(5)
    words = sorted({noun(rng) for _ in range(1900)})
    rng.shuffle(words)
    train = DataLoader(words[:1200], batch_size=args.bs, shuffle=True, collate_fn=collate)
    val = DataLoader(words[1200:1600], batch_size=200, collate_fn=collate)
    model = Tagger()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-2)
    ce = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        model.train()
        for i, (x, y) in enumerate(train):
            opt.zero_grad()
            loss = ce(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            if i % 10 == 0:
                print(f"epoch {epoch} iter {i:2d} loss {loss.item():.4f}")
        model.eval()
        with torch.no_grad():
            outs = [(model(x), y) for x, y in val]
            vl = sum(ce(o, y).item() for o, y in outs) / len(outs)
            acc = sum((o.argmax(1) == y).float().mean().item() for o, y in outs) / len(outs)
        print(f"epoch {epoch} val loss {vl:.4f} acc {acc:.3f}")


if __name__ == "__main__":
    main()
