"""Two-tower recommender: will this user like this film?"""
import numpy as np
import torch
import torch.nn as nn

N_USERS, N_FILMS, D_USER, D_FILM, D = 1200, 400, 12, 12, 16


def tower(n_in):
    return nn.Sequential(nn.Linear(n_in, 48), nn.ReLU(), nn.Linear(48, D))


class TwoTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.user_tower = tower(D_USER)
        self.film_tower = tower(D_FILM)
        self.bias = nn.Parameter(torch.zeros(1))

    def encode_users(self, feats):
        return self.user_tower(feats)

    def encode_films(self, feats):
        return self.user_tower(feats)

    def forward(self, user, film):
        return (self.encode_users(user) * self.encode_films(film)).sum(-1) / D ** 0.5 + self.bias


class Ratings:
    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.users = rng.normal(size=(N_USERS, D_USER)).astype("float32")
        self.films = rng.normal(size=(N_FILMS, D_FILM)).astype("float32")
        a, b = rng.normal(size=(D_USER, 4)) / 12 ** 0.5, rng.normal(size=(D_FILM, 4)) / 12 ** 0.5
        taste, style = np.tanh(1.5 * self.users @ a), np.tanh(1.5 * self.films @ b)
        self.pairs = np.stack([rng.integers(0, N_USERS, 40000), rng.integers(0, N_FILMS, 40000)], 1)
        self.pairs = np.unique(self.pairs, axis=0)
        rng.shuffle(self.pairs)
        logit = 4 * (taste[self.pairs[:, 0]] * style[self.pairs[:, 1]]).sum(1)
        self.liked = (rng.random(len(logit)) < 1 / (1 + np.exp(-logit))).astype("float32")

    def split(self, n_val=4000):
        out = []
        for rows in (slice(n_val, None), slice(0, n_val)):
            u, f = self.pairs[rows].T
            out.append(tuple(torch.from_numpy(a) for a in (self.users[u], self.films[f], self.liked[rows])))
        return out


def evaluate(model, data):
    model.eval()
    with torch.no_grad():
        out = model(data[0], data[1])
        loss = nn.functional.binary_cross_entropy_with_logits(out, data[2])
    return loss.item(), ((out > 0) == (data[2] > 0.5)).float().mean().item()


def main(epochs=8, batch=128):
    torch.manual_seed(19)
    train, val = Ratings(19).split()
    model = TwoTower()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for rows in torch.randperm(len(train[2])).split(batch):
            user, film, liked = (t[rows] for t in train)
            loss = nn.functional.binary_cross_entropy_with_logits(model(user, film), liked)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(rows)
        sched.step()
        vloss, vacc = evaluate(model, val)
        print(f"epoch {epoch + 1}: train {total / len(train[2]):.4f}  val {vloss:.4f}  acc {vacc:.4f}")


main()
