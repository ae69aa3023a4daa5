"""Rent level of flats: training, and the little service that the website calls."""
import numpy as np
import torch
from torch import nn

FIELDS = ["area_m2", "rooms", "year", "distance_m", "income_area"]


def listings(n, seed):
    rng = np.random.default_rng(seed)
    area = rng.gamma(6.0, 12.0, n) + 15
    rooms = np.clip(np.round(area / 26 + rng.normal(0, 0.6, n)), 1, 7)
    year = rng.integers(1900, 2022, n)
    distance = rng.lognormal(7.5, 0.9, n)
    income = rng.lognormal(10.3, 0.4, n)
    price = (2.1 * np.log(area) + 0.9 * np.log(income) - 0.8 * np.log(distance) + 0.01 * (year - 1960)
             + 0.15 * rooms + rng.normal(0, 0.35, n))
    band = np.digitize(price, [10.3, 11.5, 12.6])
    rows = [dict(zip(FIELDS, map(float, r))) for r in zip(area, rooms, year, distance, income)]
    return rows, band


class Preprocessor:
    """Raw columns to standardised inputs."""

    def fit(self, rows):
        table = self.columns(rows)
        self.mean, self.std = table.mean(0), table.std(0)
        return self

    @staticmethod
    def columns(rows):
        raw = np.array([[r[f] for f in FIELDS] for r in rows])
        raw[:, [0, 3, 4]] = np.log(raw[:, [0, 3, 4]])
        return raw

    def __call__(self, rows):
        return torch.tensor((self.columns(rows) - self.mean) / self.std, dtype=torch.float32)


class RentService:
    """What runs behind /estimate; gets a request with a few listings at a time."""

    def __init__(self, model, prep):
        self.model, self.prep = model.eval(), prep

    def inputs(self, rows):
        return self.prep(rows)

    @torch.no_grad()
    def estimate(self, rows):
        return self.model(self.inputs(rows)).argmax(1).numpy()


def train(model, x, y, xv, yv, epochs=25):
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-3)
    ce = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(x)).split(64):
            opt.zero_grad()
            loss = ce(model(x[idx]), y[idx])
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            out = model(xv)
        if epoch % 4 == 0:
            print(f"epoch {epoch}: train {total / len(x):.4f} val {ce(out, yv):.4f} acc {(out.argmax(1) == yv).float().mean():.3f}")


def main():
    torch.manual_seed(4)
    rows, band = listings(5000, seed=1)
    val_rows, val_band = listings(1500, seed=2)
    prep = Preprocessor().fit(rows)
    model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))
    train(model, prep(rows), torch.tensor(band), prep(val_rows), torch.tensor(val_band))
    service = RentService(model, prep)
    answers = np.concatenate([service.estimate(val_rows[i:i + 6]) for i in range(0, len(val_rows), 6)])
    print(f"service on the validation listings: acc {(answers == val_band).mean():.3f}")


if __name__ == "__main__":
    main()
