"""Grammar drill: does the last symbol of a phrase agree with its marked symbol? Elman network over embeddings."""
import math
import random

import torch
import torch.nn as nn


class PhraseNet(nn.Module):
    def __init__(self, vocab, dim=128, hidden=48, classes=4):
        super().__init__()
        self.dim = dim
        self.embedding = nn.Embedding(vocab, dim)
        self.w_in = nn.Linear(dim, hidden)
        self.w_rec = nn.Linear(hidden, hidden, bias=False)
        nn.init.orthogonal_(self.w_rec.weight)
        self.head = nn.Linear(hidden, classes)

    def forward(self, tokens):
        x = self.w_in(self.embedding(tokens) * math.sqrt(self.dim))
        h = torch.zeros(len(tokens), self.w_rec.in_features)
        for t in range(tokens.size(1)):
            h = torch.tanh(x[:, t] + self.w_rec(h))
        return self.head(h)


def phrase(rng, length=8, words=40, marks=4):
    """Words 0..39, marks 40..43; the answer is the mark that stands somewhere in the first six places."""
    tokens = [rng.randrange(words) for _ in range(length)]
    mark = rng.randrange(marks)
    tokens[rng.randrange(length - 2)] = words + mark
    return tokens, mark


def batch(rng, n):
    tokens, marks = zip(*(phrase(rng) for _ in range(n)))
    return torch.tensor(tokens), torch.tensor(marks)


torch.manual_seed(9)
rng = random.Random(9)
test_tokens, test_marks = batch(random.Random(1009), 500)
model = PhraseNet(vocab=44)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
running = []
for step in range(1, 421):
    tokens, marks = batch(rng, 48)
    loss = criterion(model(tokens), marks)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    running.append(loss.item())
    if step % 60 == 0:
        with torch.no_grad():
            acc = (model(test_tokens).argmax(1) == test_marks).float().mean().item()
        print(f"step {step}: loss {sum(running) / len(running):.4f}, test accuracy {acc:.3f}")
        running = []
