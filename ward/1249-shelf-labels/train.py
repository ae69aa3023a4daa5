"""Which shelf does an article belong to? Bag of character trigrams, EmbeddingBag, linear warm-up and decay."""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

STEMS = {
    "dairy": ["milk", "cheese", "yogurt", "butter", "cream", "kefir"],
    "bakery": ["bread", "roll", "bagel", "croissant", "brioche", "cracker"],
    "hygiene": ["soap", "shampoo", "toothpaste", "lotion", "razor", "towel"],
    "garden": ["seed", "shovel", "hose", "planter", "fertiliser", "rake"],
    "drinks": ["juice", "cola", "lemonade", "water", "cider", "tonic"],
}
EXTRA = ["fresh", "organic", "large", "mini", "classic", "premium", "offer", "pack", "light", "family", "12x", "500g", "new"]
SHELVES = sorted(STEMS)
BUCKETS = 600


def article(rng):
    shelf = rng.randrange(len(SHELVES))
    stem = rng.choice(STEMS[SHELVES[shelf]])
    if rng.random() < 0.3:
        k = rng.randrange(len(stem))
        stem = stem[:k] + rng.choice("abcdefghijklmnopqrstuvwxyz") + stem[k + 1:]
    words = rng.sample(EXTRA, rng.randint(1, 4)) + [stem]
    rng.shuffle(words)
    return " ".join(words), shelf


def trigrams(text):
    text = f" {text} "
    return [sum(ord(c) * 31 ** j for j, c in enumerate(text[i:i + 3])) % BUCKETS for i in range(len(text) - 2)]


def collate(rows):
    ids, offsets, labels = [], [], []
    for text, shelf in rows:
        offsets.append(len(ids))
        ids += trigrams(text)
        labels.append(shelf)
    return torch.tensor(ids), torch.tensor(offsets), torch.tensor(labels)


class ShelfNet(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.bag = nn.EmbeddingBag(BUCKETS, dim, mode="mean")
        self.hidden = nn.Linear(dim, 48)
        self.out = nn.Linear(48, len(SHELVES))

    def forward(self, ids, offsets):
        return self.out(F.relu(self.hidden(self.bag(ids, offsets))))


def linear_schedule(optimizer, warmup, total):
    def factor(step):
        if step < warmup:
            return step / warmup
        return max(0.0, (total - step) / (total - warmup))
    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def train_one_epoch(model, optimizer, scheduler, rows, batch_size):
    model.train()
    random.shuffle(rows)
    total = 0.0
    for i in range(0, len(rows), batch_size):
        ids, offsets, labels = collate(rows[i:i + batch_size])
        loss = F.cross_entropy(model(ids, offsets), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item() * len(labels)
    return total / len(rows)


def main():
    random.seed(3)
    torch.manual_seed(3)
    rng = random.Random(99)
    rows = [article(rng) for _ in range(2000)]
    train_rows, test_rows = rows[:1600], rows[1600:]
    epochs, batch_size = 12, 64
    steps = -(-len(train_rows) // batch_size)
    model = ShelfNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.01)
    test = collate(test_rows)
    for epoch in range(epochs):
        scheduler = linear_schedule(optimizer, warmup=steps * 4, total=steps * epochs)
        loss = train_one_epoch(model, optimizer, scheduler, train_rows, batch_size)
        model.eval()
        with torch.no_grad():
            acc = (model(test[0], test[1]).argmax(1) == test[2]).float().mean()
        print(f"epoch {epoch + 1:2d}  loss {loss:.4f}  test acc {acc:.3f}  lr {scheduler.get_last_lr()[0]:.2e}")


if __name__ == "__main__":
    main()
