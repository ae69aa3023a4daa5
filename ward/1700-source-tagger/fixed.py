"""Character tagger for Python source: which kind of token does each character belong to?"""
import argparse
import importlib.util
import io
import keyword
import re
import tokenize

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

KINDS = ["space", "keyword", "name", "number", "string", "comment", "op"]
FILES = ["textwrap", "heapq", "csv", "fnmatch", "shlex", "string", "fractions", "configparser"]


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--lr", type=float, default=0.003)
    p.add_argument("--epochs", type=int, default=7)
    p.add_argument("--window", type=int, default=32)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--hidden", type=int, default=48)
    p.add_argument("--seed", type=int, default=5)
    return p.parse_args()


def tag_source(text):
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tags = [0] * len(text)
    for tok in tokenize.generate_tokens(io.StringIO(text).readline):
        if tok.type == tokenize.NAME:
            kind = 1 if keyword.iskeyword(tok.string) else 2
        else:
            kind = {tokenize.NUMBER: 3, tokenize.STRING: 4, tokenize.COMMENT: 5, tokenize.OP: 6}.get(tok.type, 0)
        if kind:
            a = starts[tok.start[0] - 1] + tok.start[1]
            b = starts[tok.end[0] - 1] + tok.end[1]
            tags[a:b] = [kind] * (b - a)
    return tags


def load_windows(window):
    xs, ys = [], []
    for name in FILES:
        with open(importlib.util.find_spec(name).origin, encoding="utf-8") as f:
            text = re.sub(r'r?"""[\s\S]*?"""', '""', f.read())  # docstrings are prose, not code
        tags = tag_source(text)
        ids = [min(ord(c), 127) for c in text]
        for i in range(0, len(ids) - window, window):
            xs.append(ids[i:i + window])
            ys.append(tags[i:i + window])
    return torch.tensor(xs), torch.tensor(ys)


class Tagger(nn.Module):
    def __init__(self, hidden, n_tags):
        super().__init__()
        self.embed = nn.Embedding(128, 24)
        self.lstm = nn.LSTM(24, hidden, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(2 * hidden, n_tags)

    def forward(self, x):
        h, _ = self.lstm(self.embed(x))
        return self.out(self.drop(h))


def evaluate(model, loader, criterion):
    model.eval()
    loss = right = n = 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            loss += criterion(out.flatten(0, 1), y.flatten()).item() * len(y)
            right += (out.argmax(-1) == y).float().mean().item() * len(y)
            n += len(y)
    return loss / n, right / n


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    X, Y = load_windows(args.window)
    order = torch.randperm(len(X))
    n_val = len(X) // 6
    val, train = order[:n_val], order[n_val:]
    print(f"{len(train)} windows for training, {len(val)} for validation")
    train_loader = DataLoader(TensorDataset(X[train], Y[train]), batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(TensorDataset(X[val], Y[val]), batch_size=256)

    model = Tagger(args.hidden, len(KINDS))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(1, args.epochs + 1):
        model.train()
        running = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x).flatten(0, 1), y.flatten())
            loss.backward()
            optimizer.step()
            running += loss.item()
        val_loss, val_acc = evaluate(model, val_loader, criterion)
        print(f"epoch {epoch}: train loss {running / len(train_loader):.4f}  val loss {val_loss:.4f}  char acc {val_acc:.4f}")


if __name__ == "__main__":
    main()
