"""Character-level language model on generated kitchen instructions."""
import math
import random

import torch
import torch.nn as nn

SEED = 11
HIDDEN = 96
SEQ_LEN = 40
BATCH = 32
EPOCHS = 8
LR = 4e-3

random.seed(SEED)
torch.manual_seed(SEED)

VERBS = ["chop", "slice", "boil", "fry", "roast", "mix", "grate", "season"]
THINGS = ["onions", "carrots", "two eggs", "the rice", "butter", "mushrooms", "garlic", "tomatoes", "the dough"]
HOW = ["gently", "for ten minutes", "in olive oil", "until golden", "with salt", "over low heat"]


def sentence():
    s = f"{random.choice(VERBS)} {random.choice(THINGS)}"
    if random.random() < 0.5:
        s += f" and {random.choice(THINGS)}"
    if random.random() < 0.6:
        s += f" {random.choice(HOW)}"
    return s + ". "


def make_text(n_chars):
    out = ""
    while len(out) < n_chars:
        out += sentence()
    return out[:n_chars]


train_text = make_text(60000)
valid_text = make_text(8000)
chars = sorted(set(train_text + valid_text))
stoi = {c: i for i, c in enumerate(chars)}


def encode(text):
    return torch.tensor([stoi[c] for c in text])


def chunks(ids):
    n = (len(ids) - 1) // SEQ_LEN
    x = ids[: n * SEQ_LEN].view(n, SEQ_LEN)
    y = ids[1 : n * SEQ_LEN + 1].view(n, SEQ_LEN)
    return x, y


class CharGRU(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.embed = nn.Embedding(vocab, 32)
        self.rnn = nn.GRU(32, HIDDEN, batch_first=True)
        self.head = nn.Linear(HIDDEN, vocab)

    def forward(self, x):
        h, _ = self.rnn(self.embed(x))
        return self.head(h)


def main():
    x_tr, y_tr = chunks(encode(train_text))
    x_va, y_va = chunks(encode(valid_text))
    model = CharGRU(len(chars))
    optimizer = torch.optim.Adam(model.parameters(), lr=LR)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(1, EPOCHS + 1):
        model.train()
        total = 0.0
        perm = torch.randperm(len(x_tr))
        for start in range(0, len(perm), BATCH):
            idx = perm[start : start + BATCH]
            optimizer.zero_grad()
            logits = model(x_tr[idx])
            loss = criterion(logits.reshape(-1, len(chars)), y_tr[idx].reshape(-1))
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            val = criterion(model(x_va).reshape(-1, len(chars)), y_va.reshape(-1)).item()
        print(f"epoch {epoch} | train loss {total / len(perm):.3f} | valid loss {val:.3f} | ppl {math.exp(val):.2f}")


if __name__ == "__main__":
    main()
