"""Rent of a flat from a small CSV export; batches are dicts."""
import csv
import io
import math
import random
import torch
import torch.nn as nn
from torch.utils.data import DataLoader

random.seed(5)
torch.manual_seed(5)
DISTRICTS = ["north", "harbour", "old town", "mill"]


def export(n):
    out = io.StringIO()
    w = csv.writer(out)
    w.writerow(["area", "rooms", "year", "district", "rent"])
    for i in range(n):
        area, d = random.gauss(70, 18), random.randrange(4)
        rooms, year = max(1, round(area / 24 + random.gauss(0, 0.6))), random.randint(1900, 2020)
        rent = 8.5 * area + 60 * d + 1.2 * (year - 1960) + random.gauss(0, 25)
        w.writerow([f"{area:.1f}", rooms, year if i % 700 != 450 else "", DISTRICTS[d], f"{rent:.0f}"])
    return out.getvalue()


def number(cell):
    return float(cell) if cell else math.nan


def parse(text):
    rows = []
    for r in csv.DictReader(io.StringIO(text)):
        rows.append({
            "num": torch.tensor([(number(r["area"]) - 70) / 18, (number(r["rooms"]) - 3) / 1.2, (number(r["year"]) - 1960) / 35]),
            "cat": torch.tensor(DISTRICTS.index(r["district"])),
            "target": torch.tensor((number(r["rent"]) - 690) / 180),
        })
    return rows


class Rent(nn.Module):
    def __init__(self):
        super().__init__()
        self.district = nn.Embedding(4, 4)
        self.mlp = nn.Sequential(nn.Linear(7, 32), nn.SiLU(), nn.Linear(32, 1))

    def forward(self, batch):
        return self.mlp(torch.cat([batch["num"], self.district(batch["cat"])], 1)).squeeze(1)


rows = parse(export(2000))
loader = DataLoader(rows[:1700], batch_size=25, shuffle=True)
test = next(iter(DataLoader(rows[1700:], batch_size=300)))
model = Rent()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    model.train()
    total = 0.0
    for batch in loader:
        out = model(batch)
        loss = nn.functional.smooth_l1_loss(out, batch["target"])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        mae = 180 * (model(test) - test["target"]).abs().mean().item()
    print(f"epoch {epoch} loss {total / len(loader):.4f} test mae {mae:.1f} euros")
