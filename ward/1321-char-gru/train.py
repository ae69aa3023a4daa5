import json, argparse, collections, re
from dataclasses import dataclass

import torch
from torch import nn
import torch.nn.functional as F


@dataclass
class Config:
    seq_len: int = 32
    batch_size: int = 32
    embed: int = 16
    hidden: int = 48
    lr: float = 0.1
    steps: int = 700
    eval_every: int = 50
    clip: float = 1.0
    seed: int = 1


def corpus():
    parts = [m.__doc__ or "" for m in (json, argparse, collections, re, torch.nn)]
    for mod in (re, collections, argparse, torch, F, nn):
        for name in sorted(dir(mod)):
            doc = getattr(mod, name).__doc__
            if isinstance(doc, str):
                parts.append(doc)
    text = re.sub(r"\s+", " ", " ".join(parts)).lower()
    text = re.sub(r"[^a-z0-9 .,:()'`_=-]", "", text)
    # spread the held-out part over the whole text
    blocks = [text[i:i + 2000] for i in range(0, len(text), 2000)]
    train = "".join(b for i, b in enumerate(blocks) if i % 10)
    val = "".join(b for i, b in enumerate(blocks) if i % 10 == 0)
    return train, val


class CharGRU(nn.Module):
    def __init__(self, vocab, cfg):
        super().__init__()
        self.emb = nn.Embedding(vocab, cfg.embed)
        self.gru = nn.GRU(cfg.embed, cfg.hidden, batch_first=True)
        self.head = nn.Linear(cfg.hidden, vocab)

    def forward(self, idx):
        h, _ = self.gru(self.emb(idx))
        return self.head(h)


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.manual_seed(cfg.seed)
        train, val = corpus()
        self.chars = sorted(set(train + val))
        stoi = {c: i for i, c in enumerate(self.chars)}
        self.train_ids = torch.tensor([stoi[c] for c in train])
        self.val_ids = torch.tensor([stoi[c] for c in val])
        self.model = CharGRU(len(self.chars), cfg)
        self.opt = torch.optim.Adam(self.model.parameters(), lr=cfg.lr)

    def get_batch(self, ids, n):
        start = torch.randint(0, len(ids) - self.cfg.seq_len - 1, (n,))
        pos = start[:, None] + torch.arange(self.cfg.seq_len + 1)
        chunk = ids[pos]
        return chunk[:, :-1], chunk[:, 1:]

    def loss(self, x, y):
        return F.cross_entropy(self.model(x).flatten(0, 1), y.flatten())

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        out = torch.stack([self.loss(*self.get_batch(self.val_ids, 64)) for _ in range(4)]).mean().item()
        self.model.train()
        return out

    def fit(self):
        running = 0.0
        for step in range(1, self.cfg.steps + 1):
            x, y = self.get_batch(self.train_ids, self.cfg.batch_size)
            loss = self.loss(x, y)
            self.opt.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.clip)
            self.opt.step()
            running += loss.item()
            if step % self.cfg.eval_every == 0:
                print(f"step {step:4d} | train {running / self.cfg.eval_every:.3f} | val {self.evaluate():.3f}")
                running = 0.0


if __name__ == "__main__":
    Trainer(Config()).fit()
