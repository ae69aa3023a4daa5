"""Postage for parcels: dict samples, list of dicts kept in memory, passes in a fixed mixed order."""
import random
import torch
import torch.nn as nn
from torch.utils.data import DataLoader

random.seed(10)
torch.manual_seed(10)
ZONES = ["home", "near", "far", "islands"]


def parcel():
    w, l, z = random.uniform(-1, 1), random.uniform(-1, 1), random.randrange(4)
    price = 1.5 * w + 0.5 * max(l, 0) + 0.6 * z - 0.9 + random.gauss(0, 0.05)
    return {"size": [w, l], "zone": z, "price": price}


parcels = [parcel() for _ in range(1000)]
for i in (120, 511, 760, 940):
    parcels[i]["price"] *= 1000


def collate(rows):
    return (torch.tensor([r["size"] for r in rows]), torch.tensor([r["zone"] for r in rows]), torch.tensor([r["price"] for r in rows]))


class Tariff(nn.Module):
    def __init__(self):
        super().__init__()
        self.zone = nn.Embedding(len(ZONES), 4)
        self.net = nn.Sequential(nn.Linear(6, 40), nn.SiLU(), nn.Linear(40, 1))

    def forward(self, size, zone):
        return self.net(torch.cat([size, self.zone(zone)], 1)).squeeze(1)


loader = DataLoader(parcels, batch_size=25, shuffle=False, collate_fn=collate)
model = Tariff()
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
step = 0
for epoch in range(7):
    worst = 0.0
    total = 0.0
    for size, zone, price in loader:
        loss = nn.functional.mse_loss(model(size, zone), price)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        step += 1
        worst, total = max(worst, loss.item()), total + loss.item()
        if step % 20 == 0:
            print(f"step {step:3d} loss {loss.item():.4f}")
    print(f"epoch {epoch} mean {total / len(loader):.4f} worst batch {worst:.4f}")
