import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(7)
gen = np.random.default_rng(7)

# ratings: 400 users x 250 items, about 38 ratings per user
n_users, n_items, k_true = 400, 250, 4
P = gen.normal(0, 0.55, (n_users, k_true))
Q = gen.normal(0, 0.9, (n_items, k_true))
bu, bi = gen.normal(0, 0.4, n_users), gen.normal(0, 0.5, n_items)
u = gen.integers(0, n_users, 18000)
popularity = gen.dirichlet(np.full(n_items, 0.8))
i = gen.choice(n_items, 18000, p=popularity)
r = 3.4 + bu[u] + bi[i] + (P[u] * Q[i]).sum(1) + gen.normal(0, 0.75, len(u))
r = np.clip(np.round(r * 2) / 2, 0.5, 5)
_, keep = np.unique(u * n_items + i, return_index=True)
keep = gen.permutation(keep)
u, i, r = (torch.as_tensor(a[keep]) for a in (u, i, r))
r = r.float()
cut = int(0.85 * len(r))
print(f"{len(r)} ratings, {cut} for training")


class MF(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.user, self.item = nn.Embedding(n_users, dim), nn.Embedding(n_items, dim)
        self.user_bias, self.item_bias = nn.Embedding(n_users, 1), nn.Embedding(n_items, 1)
        nn.init.normal_(self.user.weight, std=0.05)
        nn.init.normal_(self.item.weight, std=0.05)
        nn.init.zeros_(self.user_bias.weight)
        nn.init.zeros_(self.item_bias.weight)
        self.mean = nn.Parameter(r[:cut].mean())

    def forward(self, u, i):
        dot = (self.user(u) * self.item(i)).sum(-1)
        return self.mean + dot + self.user_bias(u).squeeze(-1) + self.item_bias(i).squeeze(-1)


model = MF()
opt = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=8e-4)


def rmse(sl):
    with torch.no_grad():
        return (model(u[sl], i[sl]) - r[sl]).pow(2).mean().sqrt().item()


for epoch in range(14):
    for b in torch.randperm(cut).split(128):
        loss = nn.functional.mse_loss(model(u[b], i[b]), r[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch + 1:2d}: rmse train {rmse(slice(0, cut)):.4f}  held out {rmse(slice(cut, None)):.4f}")
