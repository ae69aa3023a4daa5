"""Seed sorter: 5 varieties from colour/shape descriptors. Keeps the best epoch, stops when it no longer improves."""
import copy
import logging
import sys

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
log = logging.getLogger("seeds")

HPARAMS = dict(lr=1.5e-3, batch_size=16, max_epochs=14, patience=2, hidden=40)


def seeds(n, centres, g):
    y = torch.randint(len(centres), (n,), generator=g)
    which = torch.randint(2, (n,), generator=g)
    return TensorDataset(centres[y, which] + torch.randn(n, centres.shape[-1], generator=g), y)


def evaluate(model, loader, max_batches=1):
    model.eval()
    loss, right, seen = 0.0, 0, 0
    with torch.no_grad():
        for i, (x, y) in enumerate(loader):
            if max_batches is not None and i >= max_batches:
                break
            out = model(x)
            loss += nn.functional.cross_entropy(out, y, reduction="sum").item()
            right += (out.argmax(1) == y).sum().item()
            seen += len(y)
    return loss / seen, right / seen


def train(hp):
    torch.manual_seed(4)
    g = torch.Generator().manual_seed(4)
    centres = torch.randn(5, 2, 12, generator=g) * 0.75
    train_dl = DataLoader(seeds(640, centres, g), batch_size=hp["batch_size"], shuffle=True)
    val_dl = DataLoader(seeds(800, centres, g), batch_size=hp["batch_size"])
    test_dl = DataLoader(seeds(1500, centres, g), batch_size=500)

    model = nn.Sequential(nn.Linear(12, hp["hidden"]), nn.ReLU(), nn.Linear(hp["hidden"], 5))
    opt = torch.optim.Adam(model.parameters(), lr=hp["lr"])
    best, best_state, since = -1.0, None, 0
    for epoch in range(1, hp["max_epochs"] + 1):
        model.train()
        total = 0.0
        for x, y in train_dl:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            opt.step()
            total += loss.item()
        vl, va = evaluate(model, val_dl)
        log.info(f"epoch {epoch:2d} train {total / len(train_dl):.4f} val {vl:.4f} acc {va:.3f}")
        if va > best:
            best, best_state, since = va, copy.deepcopy(model.state_dict()), 0
        else:
            since += 1
            if since >= hp["patience"]:
                log.info("no improvement, stopping")
                break
    model.load_state_dict(best_state)
    tl, ta = evaluate(model, test_dl, max_batches=None)
    log.info(f"best val acc {best:.3f} | test loss {tl:.4f} acc {ta:.3f}")


train(HPARAMS)
