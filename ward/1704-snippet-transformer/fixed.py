import importlib.util
import random
import re
from collections import Counter

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

MODULES = ["argparse", "turtle", "tarfile", "_pydecimal"]
SNIPPET_LEN = 36
VOCAB_SIZE = 600


def read_snippets():
    """Cut each library module into snippets of consecutive tokens, labelled with the module."""
    rows = []
    for label, name in enumerate(MODULES):
        path = importlib.util.find_spec(name).origin
        tokens = re.findall(r"[A-Za-z_]+|[^\sA-Za-z_]", open(path, encoding="utf-8").read())
        cuts = [tokens[i:i + SNIPPET_LEN] for i in range(0, len(tokens) - SNIPPET_LEN, SNIPPET_LEN)]
        random.shuffle(cuts)
        rows += [(c, label) for c in cuts[:600]]
    random.shuffle(rows)
    return rows


class SnippetDataset(Dataset):
    def __init__(self, rows, vocab):
        self.ids = torch.tensor([[vocab.get(t, 0) for t in toks] for toks, _ in rows])
        self.labels = torch.tensor([l for _, l in rows])

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.ids[i], self.labels[i]


class SnippetClassifier(nn.Module):
    def __init__(self, n_words, n_classes, dim=32, heads=4, layers=1, dropout=0.4):
        super().__init__()
        self.tok = nn.Embedding(n_words, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(1, SNIPPET_LEN, dim))
        block = nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(block, layers, norm=nn.LayerNorm(dim), enable_nested_tensor=False)
        self.classifier = nn.Linear(dim, n_classes)

    def forward(self, ids):
        h = self.encoder(self.tok(ids) + self.pos)
        return self.classifier(h.mean(dim=1))


def run_epoch(model, loader, optimizer=None):
    model.train(optimizer is not None)
    loss_sum, hits, count = 0.0, 0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for ids, labels in loader:
            logits = model(ids)
            loss = nn.functional.cross_entropy(logits, labels)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
            loss_sum += loss.item() * len(labels)
            hits += (logits.argmax(1) == labels).sum().item()
            count += len(labels)
    return loss_sum / count, hits / count


def main():
    random.seed(13)
    torch.manual_seed(13)
    rows = read_snippets()
    n_train = int(0.8 * len(rows))
    counts = Counter(t for toks, _ in rows[:n_train] for t in toks)
    vocab = {t: i + 1 for i, (t, _) in enumerate(counts.most_common(VOCAB_SIZE))}
    train = DataLoader(SnippetDataset(rows[:n_train], vocab), batch_size=32, shuffle=True)
    valid = DataLoader(SnippetDataset(rows[n_train:], vocab), batch_size=128)

    model = SnippetClassifier(VOCAB_SIZE + 1, len(MODULES))
    no_decay = [p for n, p in model.named_parameters() if p.ndim == 1]
    decay = [p for n, p in model.named_parameters() if p.ndim > 1]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01},
                                   {"params": no_decay, "weight_decay": 0.0}], lr=1e-3)
    for epoch in range(1, 10):
        tl, ta = run_epoch(model, train, optimizer)
        vl, va = run_epoch(model, valid)
        print(f"Epoch {epoch} - train loss {tl:.3f} acc {ta:.3f} - valid loss {vl:.3f} acc {va:.3f}")


if __name__ == "__main__":
    main()
