"""Matrix factorisation with biases for a small book club."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(55)
USERS, BOOKS, RANK = 160, 120, 3


def club():
    taste, style = torch.randn(USERS, RANK), torch.randn(BOOKS, RANK)
    mean_u, mean_b = 0.3 * torch.randn(USERS), 0.4 * torch.randn(BOOKS)
    cells = torch.randperm(USERS * BOOKS)[:11000]
    u, b = cells // BOOKS, cells % BOOKS
    r = 3.2 + mean_u[u] + mean_b[b] + 0.5 * (taste[u] * style[b]).sum(1) + 0.2 * torch.randn(len(u))
    return u, b, r.clamp(0, 6)


class Factorisation(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.user = nn.Embedding(USERS, dim)
        self.book = nn.Embedding(BOOKS, dim)
        self.user_bias = nn.Embedding(USERS, 1)
        self.book_bias = nn.Embedding(BOOKS, 1)
        self.mean = nn.Parameter(torch.tensor(3.0))
        for e in (self.user, self.book, self.user_bias, self.book_bias):
            nn.init.normal_(e.weight, std=0.3)

    def forward(self, u, b):
        vectors = torch.stack([self.user(u), self.book(b)])
        match = vectors.prod(0).sum(-1)
        return self.mean + self.user_bias(u).squeeze(-1) + self.book_bias(b).squeeze(-1) + match


users, books, ratings = club()
cut = 9000
loader = DataLoader(TensorDataset(users[:cut], books[:cut], ratings[:cut]), batch_size=150, shuffle=True)
model = Factorisation()
opt = torch.optim.AdamW(model.parameters(), lr=0.02, weight_decay=0.02)
mse = nn.MSELoss()
for epoch in range(8):
    model.train()
    sq = 0.0
    for u, b, r in loader:
        opt.zero_grad()
        loss = mse(model(u, b), r)
        loss.backward()
        opt.step()
        sq += loss.item() * len(r)
    model.eval()
    with torch.no_grad():
        val = mse(model(users[cut:], books[cut:]), ratings[cut:]).item()
    print(f"epoch {epoch + 1:2d}  train rmse {(sq / cut) ** 0.5:.4f}  val rmse {val ** 0.5:.4f}")
