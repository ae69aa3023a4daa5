import argparse
import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

GOOD = "great lovely superb charming crisp sturdy generous brilliant smooth tasty".split()
BAD = "awful broken bland noisy flimsy rude stale dull leaky overpriced".split()
NEUTRAL = "the a this that it was is very quite really food room phone service battery screen staff place price and but we i they".split()


def make_review(rng, length=12):
    label = rng.random() < 0.5
    words = [rng.choice(NEUTRAL) for _ in range(length)]
    for pos in rng.sample(range(0, length, 2), 4):
        positive = rng.random() < (0.9 if label else 0.1)
        if rng.random() < 0.2:
            words[pos:pos + 2] = ["not", rng.choice(BAD if positive else GOOD)]
        else:
            words[pos] = rng.choice(GOOD if positive else BAD)
    return words, int(label)


class Classifier(nn.Module):
    def __init__(self, n_words, dim=32, heads=4, layers=2, max_len=12):
        super().__init__()
        self.tok = nn.Embedding(n_words, dim)
        self.pos = nn.Parameter(torch.randn(1, max_len, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, heads, 64, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, 2)

    def forward(self, ids):
        return self.head(self.norm(self.encoder(self.tok(ids) + self.pos)).mean(1))


def evaluate(model, loader):
    model.eval()
    loss = hits = n = 0
    with torch.no_grad():
        for ids, y in loader:
            out = model(ids)
            loss += nn.functional.cross_entropy(out, y, reduction="sum").item()
            hits += (out.argmax(1) == y).sum().item()
            n += len(y)
    return loss / n, hits / n


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--learning_rate", type=float, default=2e-6)
    parser.add_argument("--weight_decay", type=float, default=0.01)
    parser.add_argument("--warmup_ratio", type=float, default=0.1)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--seed", type=int, default=42)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    rows = [make_review(rng) for _ in range(3600)]
    vocab = {w: i for i, w in enumerate(GOOD + BAD + NEUTRAL + ["not"])}
    x = torch.tensor([[vocab[w] for w in words] for words, _ in rows])
    y = torch.tensor([label for _, label in rows])
    train = DataLoader(TensorDataset(x[:3000], y[:3000]), batch_size=args.batch_size, shuffle=True)
    valid = DataLoader(TensorDataset(x[3000:], y[3000:]), batch_size=300)

    model = Classifier(len(vocab))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate, weight_decay=args.weight_decay)
    total = args.epochs * len(train)
    warmup = int(args.warmup_ratio * total)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: (s + 1) / warmup if s < warmup else max(0.0, (total - s) / (total - warmup)))
    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        for ids, labels in train:
            loss = nn.functional.cross_entropy(model(ids), labels)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            running += loss.item()
        vloss, vacc = evaluate(model, valid)
        print(f"{{'epoch': {epoch + 1}, 'loss': {running / len(train):.4f}, 'eval_loss': {vloss:.4f}, 'eval_accuracy': {vacc:.3f}}}")


if __name__ == "__main__":
    main()
