"""Word-level GRU language model on a toy grammar: tied softmax, accumulation over micro-batches,
warm-up + cosine per optimizer step, exponential moving average of the weights for evaluation."""
import copy
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(10)
torch.manual_seed(10)
NOUNS, VERBS, ADJ, PLACES = "cat dog bird child robot king".split(), "sees likes follows paints hears".split(), "old small red happy".split(), "park house river market".split()


def sentence():
    np = lambda: ["the"] + ([random.choice(ADJ)] if random.random() < 0.4 else []) + [random.choice(NOUNS)]
    s = np() + [random.choice(VERBS)] + np()
    if random.random() < 0.5:
        s += ["in", "the", random.choice(PLACES)]
    return s + ["."]


words = ["the", "in", "."] + NOUNS + VERBS + ADJ + PLACES
code = {w: i for i, w in enumerate(words)}
stream = lambda n: torch.tensor([code[w] for _ in range(n) for w in sentence()])
train_ids, val_ids = stream(6000), stream(800)
LENGTH, MICRO, ACCUM, UPDATES = 32, 8, 4, 350


class TiedLM(nn.Module):
    def __init__(self, vocab, dim=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, vocab)
        self.out.weight = self.emb.weight
        nn.init.normal_(self.emb.weight, std=0.05)

    def forward(self, idx):
        return self.out(self.norm(self.gru(self.emb(idx))[0]))


def batch(ids, size):
    s = torch.randint(len(ids) - LENGTH - 1, (size,)).tolist()
    b = torch.stack([ids[i:i + LENGTH + 1] for i in s])
    return b[:, :-1], b[:, 1:]


def nll(model, x, y):
    return F.cross_entropy(model(x).transpose(1, 2), y)


@torch.no_grad()
def evaluate(model):
    n = (len(val_ids) - 1) // LENGTH * LENGTH
    return nll(model.eval(), val_ids[:n].view(-1, LENGTH), val_ids[1:n + 1].view(-1, LENGTH)).item()


model = TiedLM(len(words))
ema = copy.deepcopy(model).requires_grad_(False)
opt = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.01)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda u: min(1, (u + 1) / 35) * 0.5 * (1 + math.cos(math.pi * u / UPDATES)))
running = 0.0
opt.zero_grad()
for micro in range(1, UPDATES * ACCUM + 1):
    model.train()
    loss = nll(model, *batch(train_ids, MICRO)) / ACCUM
    loss.backward()
    running += loss.item()
    if micro % ACCUM == 0:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        opt.zero_grad()
        update = micro // ACCUM
        with torch.no_grad():
            for a, p in zip(ema.parameters(), model.parameters()):
                a.lerp_(p, 1 - min(0.98, update / (update + 10)))
        if update % 25 == 0:
            print(f"update {update:4d}  train ppl {math.exp(running / 25):.3f}  val ppl {math.exp(evaluate(model)):.3f}  ema {math.exp(evaluate(ema)):.3f}")
            running = 0.0
