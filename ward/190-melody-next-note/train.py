"""Next-note model for simple melodies (GRU)."""
import argparse
import random

import torch
import torch.nn as nn

NOTES = 16
MOTIFS = [[0, 2, 4, 5], [7, 5, 4, 2], [9, 11, 12, 14], [4, 7, 9, 7], [15, 13, 8, 10], [3, 6, 1, 3]]


def melody(length, rng):
    """Motifs strung together, now and then with a stray note."""
    notes = []
    last = rng.randrange(len(MOTIFS))
    while len(notes) < length:
        last = (last + rng.choice([1, 1, 1, 2])) % len(MOTIFS)
        notes += MOTIFS[last]
    return [rng.randrange(NOTES) if rng.random() < 0.03 else n for n in notes[:length]]


class MelodyModel(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.embedding = nn.Embedding(NOTES, 12)
        self.gru = nn.GRU(12, hidden, batch_first=True)
        self.output = nn.Linear(hidden, NOTES)

    def forward(self, notes):
        h, _ = self.gru(self.embedding(notes))
        return self.output(h)


def sequence_loss(model, batch):
    scores = model(batch[:, :-1])
    return nn.functional.cross_entropy(scores.reshape(-1, NOTES), batch[:, 1:].reshape(-1))


def main(args):
    rng = random.Random(args.seed)
    torch.manual_seed(args.seed)
    songs = torch.tensor([melody(25, rng) for _ in range(900)])
    train, held_out = songs[:750], songs[750:]
    model = MelodyModel(args.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for batch in train[torch.randperm(len(train))].split(args.batch_size):

            def closure():
                optimizer.zero_grad()
                return sequence_loss(model, batch)

            total += optimizer.step(closure).item()
        model.eval()
        with torch.no_grad():
            held = sequence_loss(model, held_out).item()
        print(f"epoch {epoch:2d}  train {total / (len(train) / args.batch_size):.4f}  held-out {held:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=30)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--seed", type=int, default=13)
    main(parser.parse_args())
