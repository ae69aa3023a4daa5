"""Character model of harbour messages: learns the northern messages, is then adapted to the southern ones."""
import math
import random

import torch
import torch.nn as nn

NORTH = {
    "vessel": ["kutter havn", "ferge bris", "skute fjord", "lekter nord", "tanker strand"],
    "state": ["kommer inn", "ligger ved kai", "seiler ut", "venter paa los"],
    "cargo": ["fisk", "tommer", "salt", "olje", "stein"],
}
SOUTH = {
    "vessel": ["barca porto", "goleta viento", "nave ancla", "lancha puerto", "buque costa"],
    "state": ["entra ahora", "espera en muelle", "zarpa pronto", "pide remolque"],
    "cargo": ["naranjas", "aceite", "trigo", "hierro", "corcho"],
}


def messages(words, count, seed):
    rng = random.Random(seed)
    lines = []
    for _ in range(count):
        lines.append(f"{rng.choice(words['vessel'])} {rng.choice(words['state'])} {rng.choice(words['cargo'])} {rng.randint(2, 98)}\n")
    return "".join(lines)


class Corpus:
    def __init__(self, text, alphabet, length=48):
        ids = torch.tensor([alphabet.index(c) for c in text])
        pieces = (len(ids) - 1) // length
        self.x = ids[: pieces * length].view(pieces, length)
        self.y = ids[1 : pieces * length + 1].view(pieces, length)

    def batches(self, size, generator):
        order = torch.randperm(len(self.x), generator=generator)
        for part in order.split(size):
            yield self.x[part], self.y[part]


class Speller(nn.Module):
    def __init__(self, symbols, width=64):
        super().__init__()
        self.embed = nn.Embedding(symbols, 24)
        self.rnn = nn.GRU(24, width, batch_first=True)
        self.out = nn.Linear(width, symbols)

    def forward(self, ids):
        hidden, _ = self.rnn(self.embed(ids))
        return self.out(hidden)


class Trainer:
    def __init__(self, model, rate):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=rate)
        self.criterion = nn.CrossEntropyLoss()
        self.generator = torch.Generator().manual_seed(5)

    def run(self, corpus, epochs, watch):
        for epoch in range(epochs):
            self.model.train()
            total = steps = 0
            for x, y in corpus.batches(16, self.generator):
                loss = self.criterion(self.model(x).flatten(0, 1), y.flatten())
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
                self.optimizer.step()
                total, steps = total + loss.item(), steps + 1
            told = ", ".join(f"{name} {math.exp(self.score(held)):.2f}" for name, held in watch.items())
            print(f"epoch {epoch}: loss {total / steps:.3f}; perplexity {told}")

    @torch.no_grad()
    def score(self, corpus):
        self.model.eval()
        return self.criterion(self.model(corpus.x).flatten(0, 1), corpus.y.flatten()).item()


torch.manual_seed(5)
alphabet = sorted(set("".join(messages(w, 400, 9) for w in (NORTH, SOUTH))))
north, north_held = Corpus(messages(NORTH, 400, 1), alphabet), Corpus(messages(NORTH, 120, 2), alphabet)
south, south_held = Corpus(messages(SOUTH, 400, 3), alphabet), Corpus(messages(SOUTH, 120, 4), alphabet)

trainer = Trainer(Speller(len(alphabet)), rate=5e-3)
trainer.run(north, 6, {"north": north_held})
both = Corpus(messages(SOUTH, 400, 3) + messages(NORTH, 130, 6), alphabet)
trainer.run(both, 6, {"north": north_held, "south": south_held})
