import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

PAD, BOS, EOS = 0, 1, 2
NOUNS = {"sg": ["dog", "child", "bird", "nurse", "pilot"], "pl": ["dogs", "children", "birds", "nurses", "pilots"]}
VERBS = {"sg": ["sees", "likes", "hears", "finds"], "pl": ["see", "like", "hear", "find"]}
PLACES = ["in the park", "near the old river", "at home", "on the hill behind the school"]


def sentence(rng):
    n = rng.choice(["sg", "pl"])
    words = ["the", rng.choice(NOUNS[n])]
    if rng.random() < 0.4:
        words += rng.choice(PLACES).split()
    words += [rng.choice(VERBS[n]), "the", rng.choice(NOUNS[rng.choice(["sg", "pl"])])]
    if rng.random() < 0.3:
        words += ["and", "then", rng.choice(VERBS[n]), "it"]
    return words


def build(n, rng, vocab):
    return [torch.tensor([BOS] + [vocab[w] for w in sentence(rng)] + [EOS]) for _ in range(n)]


def collate(rows):
    ids = pad_sequence(rows, batch_first=True, padding_value=PAD)
    return ids[:, :-1], ids[:, 1:]


class TiedLM(nn.Module):
    def __init__(self, n_words, dim=48, max_len=32):
        super().__init__()
        self.emb = nn.Embedding(n_words, dim, padding_idx=PAD)
        nn.init.normal_(self.emb.weight, std=0.02)
        with torch.no_grad():
            self.emb.weight[PAD].zero_()
        self.pos = nn.Parameter(torch.randn(max_len, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.1, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, n_words, bias=False)
        self.out.weight = self.emb.weight

    def forward(self, x):
        t = x.shape[1]
        causal = torch.ones(t, t, dtype=torch.bool).triu(1)
        h = self.emb(x) + self.pos[:t]
        return self.out(self.norm(self.body(h, mask=causal, src_key_padding_mask=x == PAD)))


def loss_of(model, x, y):
    return F.cross_entropy(model(x).transpose(1, 2), y, ignore_index=PAD)


rng = random.Random(46)
torch.manual_seed(46)
words = sorted({w for v in (*NOUNS.values(), *VERBS.values()) for w in v} | {w for p in PLACES for w in p.split()} | {"the", "and", "then", "it"})
vocab = {w: i + 3 for i, w in enumerate(words)}
train = DataLoader(build(4000, rng, vocab), batch_size=64, shuffle=True, collate_fn=collate)
valid = DataLoader(build(800, rng, vocab), batch_size=200, collate_fn=collate)
model = TiedLM(len(vocab) + 3)
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, 3e-3, total_steps=8 * len(train), pct_start=0.1)
for epoch in range(8):
    model.train()
    losses = []
    for x, y in train:
        loss = loss_of(model, x, y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        total = sum(loss_of(model, x, y).item() * (y != PAD).sum().item() for x, y in valid)
        tokens = sum((y != PAD).sum().item() for _, y in valid)
    print(f"epoch {epoch + 1}  train {sum(losses) / len(losses):.4f}  valid {total / tokens:.4f}")
