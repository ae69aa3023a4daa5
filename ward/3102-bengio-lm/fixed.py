"""Neural probabilistic language model (Bengio et al. 2003) over the characters of some Python modules."""
import importlib
import inspect
import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

SOURCES = ["argparse", "inspect", "logging", "tarfile", "subprocess", "threading", "statistics", "difflib", "typing",
           "pathlib", "shutil", "smtplib", "unittest.mock", "zipfile", "pickle", "doctest", "ast", "locale"]


@dataclass
class Config:
    context: int = 8
    emb: int = 24
    hidden: int = 160
    batch: int = 256
    steps: int = 4500
    lr: float = 0.01
    eval_every: int = 300


def corpus():
    texts = []
    for name in SOURCES:
        try:
            texts.append(inspect.getsource(importlib.import_module(name)))
        except (ImportError, OSError):
            pass
    keep = [line for t in texts for line in t.lower().splitlines() if line.strip()]
    order = torch.randperm(len(keep), generator=torch.Generator().manual_seed(3)).tolist()
    cut = int(0.9 * len(keep))
    return "\n".join(keep[i] for i in order[:cut]), "\n".join(keep[i] for i in order[cut:])


class NPLM(nn.Module):
    def __init__(self, vocab, cfg):
        super().__init__()
        self.C = nn.Embedding(vocab, cfg.emb)
        self.H = nn.Linear(cfg.context * cfg.emb, cfg.hidden)
        self.U = nn.Linear(cfg.hidden, vocab)

    def forward(self, idx):
        e = self.C(idx).flatten(1)
        return self.U(torch.tanh(self.H(e)))


@torch.no_grad()
def evaluate(model, data, cfg):
    starts = torch.arange(0, len(data) - cfg.context - 1, 5)
    losses = []
    for s in starts.split(4096):
        x = data[s[:, None] + torch.arange(cfg.context)]
        losses.append(F.cross_entropy(model(x), data[s + cfg.context]).item() * len(s))
    return sum(losses) / len(starts)


def main():
    cfg = Config()
    torch.manual_seed(1337)
    train_text, val_text = corpus()
    chars = sorted(set(train_text) | set(val_text))
    stoi = {c: i for i, c in enumerate(chars)}
    train = torch.tensor([stoi[c] for c in train_text])
    val = torch.tensor([stoi[c] for c in val_text])
    print(f"{len(train)} training characters, vocabulary {len(chars)}")
    model = NPLM(len(chars), cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, total_iters=cfg.steps)
    running = 0.0
    for step in range(1, cfg.steps + 1):
        s = torch.randint(0, len(train) - cfg.context - 1, (cfg.batch,))
        x = train[s[:, None] + torch.arange(cfg.context)]
        loss = F.cross_entropy(model(x), train[s + cfg.context])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        scheduler.step()
        running += loss.item()
        if step % cfg.eval_every == 0:
            v = evaluate(model, val, cfg)
            print(f"step {step:5d} | train {running / cfg.eval_every:.3f} | val {v:.3f} | ppl {math.exp(v):.2f}")
            running = 0.0


if __name__ == "__main__":
    main()
