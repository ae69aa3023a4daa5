# matrix factorisation of film ratings (regression on a -2 .. 2 scale)
import torch
from torch import nn

torch.manual_seed(77)
n_users, n_films, k = 150, 100, 3

taste, style = torch.randn(n_users, k), torch.randn(n_films, k)
user_bias, film_bias = 0.3 * torch.randn(n_users), 0.5 * torch.randn(n_films)
pairs = torch.randperm(n_users * n_films)[:8000]
u, f = pairs // n_films, pairs % n_films
stars = 0.4 * (taste[u] * style[f]).sum(1) + user_bias[u] + film_bias[f] + 0.3 * torch.randn(len(pairs))

train, valid = slice(0, 7000), slice(7000, 8000)


class Factors(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.users, self.films = nn.Embedding(n_users, dim), nn.Embedding(n_films, dim)
        self.ub, self.fb = nn.Embedding(n_users, 1), nn.Embedding(n_films, 1)
        for e in (self.users, self.films, self.ub, self.fb):
            nn.init.normal_(e.weight, std=0.1)

    def forward(self, u, f):
        return (self.users(u) * self.films(f)).sum(1) + self.ub(u)[:, 0] + self.fb(f)[:, 0]


model = Factors()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-2, weight_decay=5e-4)
lossf = nn.MSELoss()

uu, ff, ss = u[train], f[train], stars[train]
for epoch in range(10):
    model.train()
    se = 0.0
    for b in torch.randperm(len(ss)).split(140):
        pred = model(uu[b], ff[b])
        loss = lossf(pred, ss[b])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        se += loss.item() * len(b)
    model.eval()
    with torch.no_grad():
        v = lossf(model(u[valid], f[valid]), stars[valid]).item()
    print(f"epoch {epoch + 1:2d}: train rmse {(se / len(ss)) ** 0.5:.4f}, valid rmse {v ** 0.5:.4f}")
