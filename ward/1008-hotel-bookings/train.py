"""Will a hotel booking be cancelled? Entity embeddings for the categories + the numeric columns."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

MARKETS = ["online", "agency", "corporate", "group", "direct"]
MONTHS = 12


def bookings(n, seed):
    rng = np.random.default_rng(seed)
    market = rng.integers(0, len(MARKETS), n)
    month = rng.integers(0, MONTHS, n)
    lead_days = rng.gamma(2.0, 40.0, n)
    nights = rng.integers(1, 10, n)
    rate = rng.normal(95, 25, n).clip(30) + 20 * np.sin(2 * np.pi * month / 12)
    special_requests = rng.poisson(0.7, n)
    deposit = rng.random(n) < 0.3
    logit = (np.array([0.6, 0.2, -1.1, 0.9, -0.8])[market] + 0.012 * (lead_days - 80) - 0.8 * (special_requests - 0.7)
             - 1.2 * (deposit - 0.3) + 0.02 * (rate - 95) - 0.5)
    cancelled = rng.random(n) < 1 / (1 + np.exp(-logit))
    share = rng.uniform(0.25, 1.0, n)
    return {
        "market": market, "month": month, "lead_days": lead_days, "nights": nights, "rate": rate,
        "special_requests": special_requests, "deposit": deposit.astype(float),
        "refunded": np.where(cancelled, np.log1p(share * rate * nights), 0.0),
        "cancelled": cancelled.astype(float),
    }


CATEGORICAL = ["market", "month"]
NUMERIC = ["lead_days", "nights", "rate", "special_requests", "deposit", "refunded"]


class BookingSet(Dataset):
    def __init__(self, table, stats=None):
        self.cat = torch.tensor(np.stack([table[c] for c in CATEGORICAL], 1))
        num = torch.tensor(np.stack([table[c] for c in NUMERIC], 1), dtype=torch.float32)
        self.stats = stats or (num.mean(0), num.std(0))
        self.num = (num - self.stats[0]) / self.stats[1]
        self.y = torch.tensor(table["cancelled"], dtype=torch.float32)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.cat[i], self.num[i], self.y[i]


class TabularNet(nn.Module):
    def __init__(self, sizes=(len(MARKETS), MONTHS), dims=(3, 4), hidden=48):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(s, d) for s, d in zip(sizes, dims))
        self.mlp = nn.Sequential(
            nn.Linear(sum(dims) + len(NUMERIC), hidden), nn.ReLU(), nn.Dropout(0.1),
            nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1),
        )

    def forward(self, cat, num):
        parts = [table(cat[:, k]) for k, table in enumerate(self.tables)]
        return self.mlp(torch.cat(parts + [num], dim=1)).squeeze(1)


def main():
    torch.manual_seed(1)
    train_set = BookingSet(bookings(2400, seed=10))
    val_set = BookingSet(bookings(800, seed=11), stats=train_set.stats)
    train_loader = DataLoader(train_set, batch_size=48, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=400)
    net = TabularNet()
    opt = torch.optim.Adam(net.parameters(), lr=1.5e-3)
    bce = nn.BCEWithLogitsLoss()
    for epoch in range(6):
        net.train()
        seen = 0.0
        for cat, num, y in train_loader:
            opt.zero_grad()
            loss = bce(net(cat, num), y)
            loss.backward()
            opt.step()
            seen += loss.item() * len(y)
        net.eval()
        with torch.no_grad():
            out = torch.cat([net(cat, num) for cat, num, _ in val_loader])
        val_loss = bce(out, val_set.y).item()
        acc = ((out > 0).float() == val_set.y).float().mean().item()
        print(f"epoch {epoch + 1}  bce {seen / len(train_set):.4f}  val bce {val_loss:.4f}  val acc {acc:.4f}")


main()
