"""Matrix factorisation for listener scores of radio shows (biases + latent factors)."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def simulate(n_listeners, n_shows, n_scores, seed=11):
    g = torch.Generator().manual_seed(seed)
    taste = torch.randn(n_listeners, 3, generator=g)
    genre = torch.randn(n_shows, 3, generator=g)
    mild = 0.4 * torch.randn(n_listeners, generator=g)
    fame = 0.5 * torch.randn(n_shows, generator=g)
    who = torch.randint(0, n_listeners, (n_scores,), generator=g)
    what = torch.randint(0, n_shows, (n_scores,), generator=g)
    score = 3 + mild[who] + fame[what] + 0.45 * (taste[who] * genre[what]).sum(1)
    score = score + 0.25 * torch.randn(n_scores, generator=g)
    return who, what, score


class FactorModel(nn.Module):
    def __init__(self, n_listeners, n_shows, factors, mean):
        super().__init__()
        self.listener = nn.Embedding(n_listeners, factors)
        self.show = nn.Embedding(n_shows, factors)
        self.listener_bias = nn.Embedding(n_listeners, 1)
        self.show_bias = nn.Embedding(n_shows, 1)
        self.register_buffer("mean", mean)
        self.reset()

    def reset(self):
        nn.init.zeros_(self.listener_bias.weight)
        nn.init.zeros_(self.show_bias.weight)
        for table in (self.listener, self.show):
            nn.init.normal_(table.weight, mean=0.0, std=0.1)

    def forward(self, who, what):
        inner = (self.listener(who) * self.show(what)).sum(1)
        return self.mean + inner + self.listener_bias(who)[:, 0] + self.show_bias(what)[:, 0]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--factors", type=int, default=48)
    ap.add_argument("--batch", type=int, default=800)
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--lr", type=float, default=5e-3)
    args = ap.parse_args()
    torch.manual_seed(0)

    who, what, score = simulate(300, 120, 36000)
    order = torch.randperm(len(score))
    train, val = order[:32000], order[32000:]
    model = FactorModel(300, 120, args.factors, score[train].mean())
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.1)
    print(f"variance of the scores {score[val].var():.3f}")

    for epoch in range(args.epochs):
        total = 0.0
        for b in train[torch.randperm(len(train))].split(args.batch):
            loss = F.mse_loss(model(who[b], what[b]), score[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(b)
        with torch.no_grad():
            held_out = F.mse_loss(model(who[val], what[val]), score[val]).item()
        print(f"epoch {epoch:2d}  train mse {total / len(train):8.4f}  val mse {held_out:8.4f}")


if __name__ == "__main__":
    main()
