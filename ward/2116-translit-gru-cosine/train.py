import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(3)
torch.manual_seed(3)

# toy transliteration: one output symbol per input letter, and it depends on the neighbours
LETTERS = "abcdefghij"
VOWELS = set("aei")
LENGTH = 10


def transliterate(word):
    out = []
    for i, c in enumerate(word):
        k = LETTERS.index(c)
        if i + 1 < len(word) and word[i + 1] in VOWELS:
            k += 10
        elif i and word[i - 1] == c:
            k = 20
        out.append(k)
    return out


def dataset(n):
    words = ["".join(random.choices(LETTERS, k=LENGTH)) for _ in range(n)]
    x = torch.tensor([[LETTERS.index(c) for c in w] for w in words])
    y = torch.tensor([transliterate(w) for w in words])
    return x, y


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(len(LETTERS), 24)
        self.rnn = nn.GRU(24, 48, batch_first=True, bidirectional=True)
        self.out = nn.Linear(96, 21)

    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        return self.out(h)


x, y = dataset(3000)
xv, yv = dataset(500)
EPOCHS, BATCH, PEAK = 20, 50, 5e-3
net = Tagger()
opt = torch.optim.AdamW(net.parameters(), lr=PEAK, weight_decay=0.01)
steps = EPOCHS * (len(x) // BATCH)
step = 0
for epoch in range(EPOCHS):
    net.train()
    total = 0.0
    for b in torch.randperm(len(x)).split(BATCH):
        for group in opt.param_groups:
            group["lr"] = PEAK * 0.5 * (1 + math.cos(math.pi * step / steps))
        loss = F.cross_entropy(net(x[b]).flatten(0, 1), y[b].flatten())
        opt.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        opt.step()
        step += 1
        total += loss.item() * len(b)
    net.eval()
    with torch.no_grad():
        o = net(xv)
        val = F.cross_entropy(o.flatten(0, 1), yv.flatten()).item()
        acc = (o.argmax(-1) == yv).float().mean().item()
    print(f"epoch {epoch + 1:2d} lr {opt.param_groups[0]['lr']:.2e} train {total / len(x):.5f} val {val:.5f} symbol acc {acc:.4f}")
