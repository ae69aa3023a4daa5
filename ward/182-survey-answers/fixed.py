"""Satisfaction (five answers, from 'very bad' to 'very good') from the words of the comment."""
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence

WORDS = {
    1: "awful broken refund never terrible useless".split(),
    2: "slow disappointing late poor annoying cheap".split(),
    3: "okay average expected fine usual acceptable".split(),
    4: "good quick helpful solid nice tidy".split(),
    5: "excellent perfect love wonderful best amazing".split(),
}
FILLER = "the a it was and my order parcel shop i they with this for on delivery price box again".split()


def survey(n, rng):
    rows = []
    for _ in range(n):
        answer = rng.randint(1, 5)
        words = [rng.choice(FILLER) for _ in range(rng.randint(4, 10))]
        for _ in range(rng.randint(1, 3)):
            near = answer if rng.random() < 0.9 else min(5, max(1, answer + rng.choice([-1, 1])))
            words.insert(rng.randrange(len(words) + 1), rng.choice(WORDS[near]))
        rows.append((words, answer))
    return rows


vocab = {w: i + 1 for i, w in enumerate(FILLER + sum(WORDS.values(), []))}


def encode(rows):
    ids = pad_sequence([torch.tensor([vocab[w] for w in words]) for words, _ in rows], batch_first=True)
    answers = torch.tensor([answer - 1 for _, answer in rows])
    return ids, answers


class CommentReader(nn.Module):
    def __init__(self, n_words, n_answers):
        super().__init__()
        self.embed = nn.Embedding(n_words, 16, padding_idx=0)
        self.gru = nn.GRU(16, 24, batch_first=True, bidirectional=True)
        self.out = nn.Linear(48, n_answers)

    def forward(self, ids):
        h, _ = self.gru(self.embed(ids))
        return torch.log_softmax(self.out(h.amax(1)), dim=1)


rng = random.Random(41)
torch.manual_seed(41)
ids, answers = encode(survey(2000, rng))
val_ids, val_answers = encode(survey(500, rng))
model = CommentReader(len(vocab) + 1, 5)
criterion = nn.NLLLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=6e-3)

for epoch in range(4):
    model.train()
    total = 0.0
    for pick in torch.randperm(len(ids)).split(50):
        optimizer.zero_grad()
        loss = criterion(model(ids[pick]), answers[pick])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(pick)
    model.eval()
    with torch.no_grad():
        out = model(val_ids)
    print(f"epoch {epoch}: loss {total / len(ids):.4f}, val loss {criterion(out, val_answers):.4f}, "
          f"val acc {(out.argmax(1) == val_answers).float().mean():.3f}")
