import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F


def parse_args():
    p = argparse.ArgumentParser("support ticket router (TextCNN)")
    p.add_argument("--train_size", type=int, default=7000)
    p.add_argument("--valid_size", type=int, default=500)
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--batch_size", type=int, default=25)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--dropout", type=float, default=0.3)
    p.add_argument("--weight_decay", type=float, default=0.0)
    p.add_argument("--seed", type=int, default=14)
    return p.parse_args()


N_WORDS, N_TEAMS, LENGTH = 400, 4, 20


def make_tickets(n, seed):
    """Every team has its own favourite words, mixed with a lot of common ones."""
    rng = random.Random(seed)
    rows, teams = [], []
    for _ in range(n):
        team = rng.randrange(N_TEAMS)
        words = []
        for _ in range(LENGTH):
            r = rng.random()
            if r < 0.14:
                words.append(1 + team * 40 + rng.randrange(40))
            elif r < 0.30:
                words.append(1 + rng.randrange(N_TEAMS * 40))
            else:
                words.append(1 + N_TEAMS * 40 + int(rng.random() ** 2 * (N_WORDS - N_TEAMS * 40 - 1)))
        rows.append(words)
        teams.append(team)
    return torch.tensor(rows), torch.tensor(teams)


class TextCNN(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.embed = nn.Embedding(N_WORDS, 64)
        self.convs = nn.ModuleList(nn.Conv1d(64, 48, k, padding=k // 2) for k in (1, 3))
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(96, N_TEAMS)

    def forward(self, x):
        e = self.dropout(self.embed(x)).transpose(1, 2)
        h = torch.cat([F.relu(c(e)).mean(dim=2) for c in self.convs], dim=1)
        return self.fc(self.dropout(h))


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        out = model(x)
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    x_train, y_train = make_tickets(args.train_size, 1)
    x_valid, y_valid = make_tickets(args.valid_size, 2)
    model = TextCNN(args.dropout)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
    for epoch in range(1, args.epochs + 1):
        model.train()
        for idx in torch.randperm(len(y_train)).split(args.batch_size):
            loss = F.cross_entropy(model(x_train[idx]), y_train[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        tl, ta = evaluate(model, x_train, y_train)
        vl, va = evaluate(model, x_valid, y_valid)
        print(f"epoch {epoch:2d}  train {tl:.3f} ({ta:.1%})  valid {vl:.3f} ({va:.1%})")


if __name__ == "__main__":
    main()
