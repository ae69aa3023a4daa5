"""Tone of short product reviews (one to five stars) with a tiny transformer encoder."""
import random

import torch
from torch import nn

random.seed(2)
torch.manual_seed(2)
GOOD = "great love perfect sturdy happy fast bright recommend".split()
BAD = "broke awful slow refund flimsy noisy cheap never".split()
PLAIN = "the it arrived box blue kitchen monday order size a my use with for they and was this is on".split()
VOCAB = {w: i for i, w in enumerate(GOOD + BAD + PLAIN)}
LENGTH = 14


def review():
    tone = random.randrange(5)
    words = random.choices(GOOD, k=tone) + random.choices(BAD, k=4 - tone)
    words += random.choices(PLAIN, k=LENGTH - len(words))
    random.shuffle(words)
    return [VOCAB[w] for w in words], tone


def data(n):
    rows = [review() for _ in range(n)]
    return torch.tensor([r[0] for r in rows]), torch.tensor([r[1] for r in rows])


class ToneModel(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.tok = nn.Embedding(len(VOCAB), d)
        self.pos = nn.Parameter(0.02 * torch.randn(LENGTH, d))
        layer = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.3, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.drop = nn.Dropout(0.5)
        self.out = nn.Linear(d, 5)

    def forward(self, s):
        h = self.enc(self.tok(s) + self.pos)
        return self.out(self.drop(h.mean(1)))


def run_epoch(model, x, y, opt=None, batch=50):
    model.train(opt is not None)
    loss_sum = hits = 0.0
    order = torch.randperm(len(y)) if opt else torch.arange(len(y))
    with torch.set_grad_enabled(opt is not None):
        for ids in order.split(batch):
            out = model(x[ids])
            loss = nn.functional.cross_entropy(out, y[ids])
            if opt:
                opt.zero_grad()
                loss.backward()
                opt.step()
            loss_sum += loss.item() * len(ids)
            hits += (out.argmax(1) == y[ids]).sum().item()
    return loss_sum / len(y), hits / len(y)


if __name__ == "__main__":
    train, held = data(1500), data(400)
    model = ToneModel()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(7):
        a = run_epoch(model, *train, opt)
        b = run_epoch(model, *held)
        print("epoch %d | train %.4f (%.3f) | held out %.4f (%.3f)" % (epoch, *a, *b))
