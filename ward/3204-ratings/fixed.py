import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

SEED = 2024
torch.manual_seed(SEED)
np.random.seed(SEED)

N_USERS, N_ITEMS, RANK = 300, 180, 3


def simulate_ratings(n):
    taste = np.random.randn(N_USERS, RANK) * 0.6
    trait = np.random.randn(N_ITEMS, RANK) * 0.6
    bu, bi = np.random.randn(N_USERS) * 0.4, np.random.randn(N_ITEMS) * 0.5
    pairs = np.random.choice(N_USERS * N_ITEMS, n, replace=False)
    u, i = pairs // N_ITEMS, pairs % N_ITEMS
    r = 3.4 + bu[u] + bi[i] + (taste[u] * trait[i]).sum(1) + np.random.randn(n) * 0.25
    return TensorDataset(torch.tensor(u), torch.tensor(i), torch.tensor(np.clip(r, 1, 5), dtype=torch.float32))


class BiasedMF(nn.Module):
    """mu + b_u + b_i + <p_u, q_i>"""

    def __init__(self, n_users, n_items, k=6, mu=0.0):
        super().__init__()
        self.user_factors = nn.Embedding(n_users, k)
        self.item_factors = nn.Embedding(n_items, k)
        self.user_bias = nn.Embedding(n_users, 1)
        self.item_bias = nn.Embedding(n_items, 1)
        self.mu = mu
        nn.init.normal_(self.user_factors.weight, std=0.1)
        nn.init.normal_(self.item_factors.weight, std=0.1)
        nn.init.zeros_(self.user_bias.weight)
        nn.init.zeros_(self.item_bias.weight)

    def forward(self, user, item):
        dot = (self.user_factors(user) * self.item_factors(item)).sum(dim=1, keepdim=True)
        return (self.mu + dot + self.user_bias(user) + self.item_bias(item)).squeeze(1)


class Trainer:
    def __init__(self, model, lr, reg):
        self.model, self.reg = model, reg
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)
        self.sched = torch.optim.lr_scheduler.ExponentialLR(self.opt, 0.85)

    def loss(self, user, item, rating):
        err = self.model(user, item) - rating
        penalty = self.model.user_factors(user).pow(2).sum(1) + self.model.item_factors(item).pow(2).sum(1)
        return (err ** 2).mean() + self.reg * penalty.mean(), (err ** 2).mean()

    def fit(self, train, val, epochs):
        for ep in range(epochs):
            self.model.train()
            se, n = 0.0, 0
            for batch in train:
                total, mse = self.loss(*batch)
                self.opt.zero_grad()
                total.backward()
                self.opt.step()
                se, n = se + mse.item() * len(batch[0]), n + len(batch[0])
            self.sched.step()
            print(f"epoch {ep + 1:2d}: train rmse {(se / n) ** 0.5:.4f}   val rmse {self.rmse(val):.4f}")

    @torch.no_grad()
    def rmse(self, loader):
        self.model.eval()
        se, n = 0.0, 0
        for batch in loader:
            se, n = se + self.loss(*batch)[1].item() * len(batch[0]), n + len(batch[0])
        return (se / n) ** 0.5


if __name__ == "__main__":
    data = simulate_ratings(30000)
    train_set, val_set = random_split(data, [26000, 4000], generator=torch.Generator().manual_seed(1))
    mu = data.tensors[2][train_set.indices].mean().item()
    model = BiasedMF(N_USERS, N_ITEMS, mu=mu)
    Trainer(model, lr=5e-3, reg=0.02).fit(DataLoader(train_set, batch_size=128, shuffle=True), DataLoader(val_set, batch_size=500), epochs=16)
