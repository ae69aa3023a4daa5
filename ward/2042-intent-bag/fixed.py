import random

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)


TEMPLATES = {
    "weather": ["will it {v} in {p} {t}", "what is the forecast for {p} {t}", "how warm is it in {p} {t}"],
    "travel": ["book a train to {p} {t}", "when does the bus to {p} leave {t}", "find me a flight from {p} {t}"],
    "food": ["order {f} for me {t}", "where can i eat {f} in {p}", "how do i cook {f}"],
    "alarm": ["wake me up {t}", "set a timer for the {f} {t}", "remind me about {p} {t}"],
}
SLOTS = {
    "v": ["rain", "snow", "freeze", "storm"],
    "p": ["paris", "oslo", "lima", "cairo", "delhi", "quito", "kyoto", "porto"],
    "t": ["today", "tomorrow", "tonight", "at noon", "on friday", "next week"],
    "f": ["pizza", "rice", "soup", "noodles", "curry", "bread"],
}
FILLER = ["please", "hey", "now", "thanks", "um", "maybe", "ok", "quickly"]
INTENTS = list(TEMPLATES)


def utterance(intent):
    text = random.choice(TEMPLATES[intent])
    for slot, options in SLOTS.items():
        text = text.replace("{" + slot + "}", random.choice(options))
    words = [w for w in text.split() if random.random() > 0.25]
    return words + random.sample(FILLER, 2)


def build_vocab(sentences):
    words = sorted(set(w for s in sentences for w in s))
    return {w: i + 1 for i, w in enumerate(words)}


def encode(sentences, vocab, width=12):
    ids = torch.zeros(len(sentences), width, dtype=torch.long)
    for row, s in enumerate(sentences):
        for col, w in enumerate(s[:width]):
            ids[row, col] = vocab.get(w, 0)
    return ids


class BagClassifier(nn.Module):
    def __init__(self, vocab_size, dim=16, classes=4):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.fc = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, classes))

    def forward(self, ids):
        mask = (ids > 0).float()[..., None]
        return self.fc((self.emb(ids) * mask).sum(1) / mask.sum(1).clamp(min=1))


def main():
    set_seed(1234)
    labels = [random.randrange(len(INTENTS)) for _ in range(6000)]
    sentences = [utterance(INTENTS[k]) for k in labels]
    vocab = build_vocab(sentences[:4500])
    X, y = encode(sentences, vocab), torch.tensor(labels)
    train = DataLoader(TensorDataset(X[:4500], y[:4500]), batch_size=32, shuffle=True)
    model = BagClassifier(len(vocab) + 1)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(8):
        model.train()
        total = 0.0
        for xb, yb in train:
            loss = nn.functional.cross_entropy(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            out = model(X[4500:])
            val = nn.functional.cross_entropy(out, y[4500:]).item()
            acc = (out.argmax(1) == y[4500:]).float().mean().item()
        print(f"epoch {epoch + 1:2d}  train {total / len(train):.6f}  val {val:.6f}  acc {acc:.4f}")


main()
