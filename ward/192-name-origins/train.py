"""Guess the language of a made-up name from its letters (LSTM)."""
import random
import string

import torch
from torch import nn

SYLLABLES = {
    "north": ["bjor", "sven", "lund", "gre", "tha", "dal", "ing", "vik"],
    "south": ["ro", "sa", "lo", "mari", "ne", "tti", "ell", "ano"],
    "east": ["ka", "zumi", "shi", "to", "ha", "ru", "yama", "ki"],
    "west": ["wil", "ton", "ham", "ford", "ash", "ley", "brook", "ster"],
}
LANGUAGES = sorted(SYLLABLES)
LETTERS = "." + string.ascii_lowercase


def make_names(n, rng):
    rows = []
    for _ in range(n):
        lang = rng.choice(LANGUAGES)
        name = "".join(rng.choice(SYLLABLES[lang if rng.random() < 0.9 else rng.choice(LANGUAGES)])
                       for _ in range(rng.choice([2, 3, 3])))
        rows.append((name, LANGUAGES.index(lang)))
    return rows


def to_tensors(rows, width=14):
    ids = [[LETTERS.index(c) for c in name[:width].rjust(width, ".")] for name, _ in rows]
    return torch.tensor(ids), torch.tensor([lang for _, lang in rows])


class NameLSTM(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.letters = nn.Embedding(len(LETTERS), 16)
        self.lstm = nn.LSTM(16, hidden, batch_first=True)
        self.head = nn.Linear(hidden, len(LANGUAGES))

    def forward(self, ids):
        return self.head(self.lstm(self.letters(ids))[0][:, -1])


class Learner:
    def __init__(self, model, lr=4e-3, max_norm=5.0):
        self.model = model
        self.max_norm = max_norm
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)
        self.history = []

    def apply_gradients(self):
        self.optimizer.zero_grad(set_to_none=False)
        nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.optimizer.step()

    def learn(self, ids, langs):
        loss = nn.functional.cross_entropy(self.model(ids), langs)
        loss.backward()
        self.apply_gradients()
        self.history.append(loss.item())

    @torch.no_grad()
    def score(self, ids, langs):
        out = self.model(ids)
        return nn.functional.cross_entropy(out, langs).item(), (out.argmax(1) == langs).float().mean().item()


def main():
    torch.manual_seed(70)
    rng = random.Random(70)
    ids, langs = to_tensors(make_names(3000, rng))
    test = to_tensors(make_names(500, rng))
    learner = Learner(NameLSTM())
    for epoch in range(4):
        order = torch.randperm(len(ids))
        for start in range(0, len(order), 50):
            pick = order[start:start + 50]
            learner.learn(ids[pick], langs[pick])
        recent = learner.history[-60:]
        loss, acc = learner.score(*test)
        print(f"epoch {epoch}  train loss {sum(recent) / len(recent):.4f}  test loss {loss:.4f}  test acc {acc:.3f}")


main()
