"""Matrix factorisation for film ratings, MovieLens-like but simulated."""
import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def simulate(n_users, n_items, n_ratings, seed):
    rng = np.random.default_rng(seed)
    taste = rng.normal(0, 1, (n_users, 5))
    genre = rng.normal(0, 1, (n_items, 5)) / np.sqrt(5)
    u = rng.integers(0, n_users, n_ratings)
    # popular films get most of the ratings
    pop = rng.dirichlet(np.full(n_items, 2.0))
    i = rng.choice(n_items, n_ratings, p=pop)
    b_u, b_i = rng.normal(0, 0.3, n_users), rng.normal(0, 0.4, n_items)
    score = 3.4 + b_u[u] + b_i[i] + 0.9 * (taste[u] * genre[i]).sum(1) + rng.normal(0, 0.4, n_ratings)
    stars = np.clip(np.round(score * 2) / 2, 0.5, 5.0)
    return torch.tensor(u), torch.tensor(i), torch.tensor(stars, dtype=torch.float32)


class MF(nn.Module):
    def __init__(self, n_users, n_items, rank, mean):
        super().__init__()
        self.user = nn.Embedding(n_users, rank)
        self.item = nn.Embedding(n_items, rank)
        self.user_bias = nn.Embedding(n_users, 1)
        self.item_bias = nn.Embedding(n_items, 1)
        self.mean = mean
        for emb in (self.user, self.item):
            nn.init.normal_(emb.weight, std=0.1)
        for emb in (self.user_bias, self.item_bias):
            nn.init.zeros_(emb.weight)

    def forward(self, u, i):
        dot = (self.user(u) * self.item(i)).sum(-1)
        return self.mean + dot + self.user_bias(u).squeeze(-1) + self.item_bias(i).squeeze(-1)


def rmse(model, loader):
    model.eval()
    se = n = 0
    with torch.no_grad():
        for u, i, r in loader:
            se += (model(u, i) - r).pow(2).sum().item()
            n += len(r)
    return (se / n) ** 0.5


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rank", type=int, default=8)
    ap.add_argument("--lr", type=float, default=0.01)
    ap.add_argument("--wd", type=float, default=0.3)
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--batch-size", type=int, default=256)
    ap.add_argument("--seed", type=int, default=3)
    args = ap.parse_args()
    torch.manual_seed(args.seed)

    u, i, r = simulate(250, 150, 24000, args.seed)
    cut = 20000
    train = DataLoader(TensorDataset(u[:cut], i[:cut], r[:cut]), batch_size=args.batch_size, shuffle=True)
    test = DataLoader(TensorDataset(u[cut:], i[cut:], r[cut:]), batch_size=4096)
    model = MF(250, 150, args.rank, r[:cut].mean().item())
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.wd)
    print(f"std of the ratings {r.std():.3f}")
    for ep in range(args.epochs):
        model.train()
        for uu, ii, rr in train:
            loss = nn.functional.mse_loss(model(uu, ii), rr)
            opt.zero_grad()
            loss.backward()
            opt.step()
        if ep % 2 == 1:
            print(f"epoch {ep + 1:3d}  train rmse {rmse(model, train):.4f}  test rmse {rmse(model, test):.4f}")


if __name__ == "__main__":
    main()
