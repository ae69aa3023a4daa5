"""Multi-label tagging of short articles: several topics may apply to one text."""
import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

TOPICS = {
    "politics": "vote senate minister law election party treaty budget mayor debate".split(),
    "sport": "goal match league coach stadium medal sprint team season penalty".split(),
    "science": "cell orbit protein laser theory sample quantum fossil lab genome".split(),
    "economy": "bank market inflation stock trade export profit loan tariff wage".split(),
    "culture": "film novel gallery opera festival actor poem museum album stage".split(),
    "health": "vaccine clinic doctor virus diet surgery nurse therapy patient dose".split(),
}
FILLER = "the a new said after today with from more people year first about over city time report week show plan".split()
NAMES = list(TOPICS)
VOCAB = {w: i + 1 for i, w in enumerate(sorted({w for ws in TOPICS.values() for w in ws} | set(FILLER)))}


class Articles(Dataset):
    def __init__(self, n, seed, length=30):
        rnd = random.Random(seed)
        self.ids = torch.zeros(n, length, dtype=torch.long)
        self.tags = torch.zeros(n, len(NAMES))
        for i in range(n):
            chosen = rnd.sample(NAMES, rnd.choice([1, 1, 2, 2, 3]))
            for j in range(length):
                p = rnd.random()
                if p < 0.25:
                    word = rnd.choice(TOPICS[rnd.choice(chosen)])
                elif p < 0.29:
                    word = rnd.choice(TOPICS[rnd.choice(NAMES)])
                else:
                    word = rnd.choice(FILLER)
                self.ids[i, j] = VOCAB[word]
            for t in chosen:
                self.tags[i, NAMES.index(t)] = 1.0

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return self.ids[i], self.tags[i]


class Tagger(nn.Module):
    def __init__(self, n_words, n_tags, dim=32, filters=32):
        super().__init__()
        self.embed = nn.Embedding(n_words, dim)
        self.convs = nn.ModuleList(nn.Conv1d(dim, filters, k, padding=k // 2) for k in (1, 3))
        self.fc = nn.Linear(4 * filters, n_tags)

    def forward(self, ids):
        e = self.embed(ids).transpose(1, 2)
        h = [torch.relu(c(e)) for c in self.convs]
        return self.fc(torch.cat([x.amax(-1) for x in h] + [x.mean(-1) for x in h], 1))


def micro_f1(logits, tags):
    pred = (logits > 0).float()
    tp = (pred * tags).sum()
    return (2 * tp / (pred.sum() + tags.sum() + 1e-9)).item()


def main():
    torch.manual_seed(40)
    train_loader = DataLoader(Articles(3000, 1), batch_size=50, shuffle=True)
    val_loader = DataLoader(Articles(600, 2), batch_size=300)
    model = Tagger(len(VOCAB) + 1, len(NAMES))
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=0.05)
    for epoch in range(1, 15):
        model.train()
        total = 0.0
        for ids, tags in train_loader:
            loss = criterion(model(ids), tags)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            outs = [(model(ids), tags) for ids, tags in val_loader]
        logits, tags = torch.cat([o for o, _ in outs]), torch.cat([t for _, t in outs])
        print(f"epoch {epoch:2d} | train {total / len(train_loader):.4f} | val {criterion(logits, tags).item():.4f} | micro-F1 {micro_f1(logits, tags):.3f}")


if __name__ == "__main__":
    main()
