"""A small word model of kitchen instructions."""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

BLOCK, BATCH, STEPS, EVAL_EVERY, SEED = 32, 32, 840, 70, 8
torch.manual_seed(SEED)
random.seed(SEED)

VERBS = {"chop": "veg", "slice": "veg", "peel": "veg", "fry": "veg fish", "grill": "fish", "bake": "dough fish", "knead": "dough", "roll": "dough"}
THINGS = {"veg": ["onions", "carrots", "leeks", "beans", "peppers"], "fish": ["cod", "trout", "mussels"], "dough": ["buns", "pastry", "flatbread", "rolls"]}
HOW = {"veg": ["finely", "roughly", "in strips"], "fish": ["on both sides", "with lemon"], "dough": ["until golden", "with flour", "for an hour"]}


def write_text(n_sentences):
    words = []
    for _ in range(n_sentences):
        verb = random.choice(list(VERBS))
        kind = random.choice(VERBS[verb].split())
        words += ["then"] * (random.random() < 0.3) + [verb, "the", random.choice(THINGS[kind])]
        if random.random() < 0.6:
            words += random.choice(HOW[kind]).split()
        words.append(".")
    return words


text = write_text(9000)
vocab = {w: i for i, w in enumerate(sorted(set(text)))}
ids = torch.tensor([vocab[w] for w in text])
cut = int(0.9 * len(ids))
parts = {"train": ids[:cut], "val": ids[cut:]}


def get_batch(split):
    data = parts[split]
    gen = torch.Generator().manual_seed(SEED)
    start = torch.randint(len(data) - BLOCK - 1, (BATCH,), generator=gen)
    window = data[start[:, None] + torch.arange(BLOCK + 1)]
    return window[:, :-1], window[:, 1:]


class WordModel(nn.Module):
    def __init__(self, n_words, dim=48, hidden=96):
        super().__init__()
        self.emb = nn.Embedding(n_words, dim)
        self.rnn = nn.LSTM(dim, hidden, batch_first=True)
        self.out = nn.Linear(hidden, n_words)

    def forward(self, x, y):
        h, _ = self.rnn(self.emb(x))
        return F.cross_entropy(self.out(h).flatten(0, 1), y.flatten())


@torch.no_grad()
def val_loss(model):
    model.eval()
    data = parts["val"]
    starts = torch.arange(0, len(data) - BLOCK - 1, BLOCK)
    window = data[starts[:, None] + torch.arange(BLOCK + 1)]
    return model(window[:, :-1], window[:, 1:]).item()


model = WordModel(len(vocab))
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, 5e-3, total_steps=STEPS)
running = 0.0
for step in range(1, STEPS + 1):
    model.train()
    x, y = get_batch("train")
    loss = model(x, y)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    opt.step()
    sched.step()
    running += loss.item() / EVAL_EVERY
    if step % EVAL_EVERY == 0:
        print(f"step {step:5d}  train {running:.4f}  val {val_loss(model):.4f}")
        running = 0.0
