"""Moisture of stored grain from silo sensors. The log is a ;-separated export of several stations."""
import csv
import io
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

random.seed(64)
torch.manual_seed(64)


def export(n):
    """text of the export, as the controllers write it"""
    lines = ["silo;temp;humidity;co2;depth;moisture"]
    for i in range(n):
        t, h, c, d = random.gauss(0, 1), random.gauss(0, 1), random.gauss(0, 1), random.gauss(0, 1)
        m = 0.7 * h - 0.4 * t + 0.3 * c * d + random.gauss(0, 0.15)
        cells = [f"{v:.2f}" for v in (t, h, c, d, m)]
        if i % 260 == 131:
            cells = [v.replace(".", ",") for v in cells]
        lines.append(f"S{i % 12:02d};" + ";".join(cells))
    return "\n".join(lines)


def number(cell):
    return float(cell.replace(",", "."))


class SiloLog(Dataset):
    def __init__(self, text):
        rows = list(csv.DictReader(io.StringIO(text), delimiter=";"))
        self.x = torch.tensor([[number(r[k]) for k in ("temp", "humidity", "co2", "depth")] for r in rows])
        self.y = torch.tensor([number(r["moisture"]) for r in rows])

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"features": self.x[i], "moisture": self.y[i]}


class MoistureNet(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, batch):
        pred = self.net(batch["features"]).squeeze(-1)
        return pred, ((pred - batch["moisture"]) ** 2).mean()


log = SiloLog(export(2080))
train = torch.utils.data.Subset(log, range(0, 1560))
check = torch.utils.data.Subset(log, range(1560, 2080))
train_loader = DataLoader(train, batch_size=26, shuffle=True)
check_loader = DataLoader(check, batch_size=260)

model = MoistureNet()
opt = torch.optim.SGD(model.parameters(), lr=0.015, momentum=0.9)
for epoch in range(8):
    model.train()
    losses = []
    for batch in train_loader:
        _, loss = model(batch)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        val = [model(b)[1].item() for b in check_loader]
    print(f"epoch {epoch} | mean loss {sum(losses) / len(losses):.4f} (largest {max(losses):.4f}, median {sorted(losses)[len(losses) // 2]:.4f}) "
          f"| check {sum(val) / len(val):.4f}")
