import logging

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("mf")
SETTINGS = {"users": 900, "films": 500, "ratings": 90000, "factors": 8, "batch_size": 256, "lr": 0.002, "reg": 5e-5, "epochs": 3, "seed": 99}


class MatrixFactorization(nn.Module):
    def __init__(self, users, films, factors, mean):
        super().__init__()
        self.p, self.q = nn.Embedding(users, factors), nn.Embedding(films, factors)
        self.bu, self.bf = nn.Embedding(users, 1), nn.Embedding(films, 1)
        for e in (self.p, self.q):
            nn.init.normal_(e.weight, std=0.1)
        for e in (self.bu, self.bf):
            nn.init.zeros_(e.weight)
        self.register_buffer("mean", mean)

    def forward(self, u, f):
        dot = (self.p(u) * self.q(f)).sum(1)
        return self.mean + dot + self.bu(u).squeeze(1) + self.bf(f).squeeze(1)


def simulate(s):
    U, V = torch.randn(s["users"], 4), torch.randn(s["films"], 4)
    bu, bf = 0.4 * torch.randn(s["users"]), 0.5 * torch.randn(s["films"])
    pairs = torch.randperm(s["users"] * s["films"])[:s["ratings"]]
    u, f = pairs // s["films"], pairs % s["films"]
    r = 3.4 + 0.5 * (U[u] * V[f]).sum(1) + bu[u] + bf[f] + 0.5 * torch.randn(len(u))
    return TensorDataset(u, f, r)


def rmse(model, loader):
    model.eval()
    with torch.no_grad():
        return (sum(((model(u, f) - r) ** 2).sum().item() for u, f, r in loader) / len(loader.dataset)) ** 0.5


def fit(s):
    torch.manual_seed(s["seed"])
    data = simulate(s)
    n = int(0.8 * len(data))
    train, test = random_split(data, [n, len(data) - n])
    train_loader = DataLoader(train, s["batch_size"], shuffle=True)
    test_loader = DataLoader(test, 4096)
    model = MatrixFactorization(s["users"], s["films"], s["factors"], data.tensors[2][train.indices].mean())
    opt = torch.optim.Adam(model.parameters(), lr=s["lr"], weight_decay=s["reg"])
    log.info("spread of the test ratings %.3f", data.tensors[2][test.indices].std().item())
    for epoch in range(1, s["epochs"] + 1):
        model.train()
        se = 0.0
        for u, f, r in train_loader:
            loss = nn.functional.mse_loss(model(u, f), r)
            opt.zero_grad()
            loss.backward()
            opt.step()
            se += loss.item() * len(r)
        log.info("epoch %d train rmse %.4f test rmse %.4f", epoch, (se / n) ** 0.5, rmse(model, test_loader))


if __name__ == "__main__":
    fit(SETTINGS)
