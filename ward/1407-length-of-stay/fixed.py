"""Length of stay (days, log scale) from admission records; categorical codes go through embeddings."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Admissions(Dataset):
    NUMERIC = ["age", "heart_rate", "creatinine", "prior_visits", "meds"]

    def __init__(self, n, seed, stats=None):
        rng = np.random.default_rng(seed)
        diag, unit = rng.integers(0, 14, n), rng.integers(0, 5, n)
        age = rng.normal(62, 16, n).clip(18, 98)
        heart = rng.normal(84, 14, n)
        creat = np.exp(rng.normal(0, 0.4, n))
        prior = rng.poisson(1.6, n)
        meds = rng.poisson(4 + 0.06 * (age - 40).clip(0))
        effect = np.random.default_rng(99).normal(0, 0.4, 14)
        log_days = (1.2 + effect[diag] + 0.012 * (age - 62) + 0.3 * np.log(creat) + 0.05 * prior + 0.04 * (meds - 5)
                    + 0.008 * (heart - 84) + 0.25 * (unit == 3) + rng.normal(0, 0.4, n))
        days = np.exp(log_days)
        # three shifts a day, each writes a note now and then two
        notes = rng.poisson(3.2 * days) + np.round(3 * days)
        columns = {"age": age, "heart_rate": heart, "creatinine": np.log(creat), "prior_visits": prior,
                   "meds": meds, "nurse_notes": np.log1p(notes)}
        num = np.stack([columns[c] for c in self.NUMERIC], 1)
        self.stats = stats or (num.mean(0), num.std(0))
        self.num = torch.tensor((num - self.stats[0]) / self.stats[1], dtype=torch.float32)
        self.diag, self.unit = torch.tensor(diag), torch.tensor(unit)
        self.y = torch.tensor(log_days, dtype=torch.float32)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"num": self.num[i], "diag": self.diag[i], "unit": self.unit[i]}, self.y[i]


class StayModel(nn.Module):
    def __init__(self, n_num):
        super().__init__()
        self.diag = nn.Embedding(14, 6)
        self.unit = nn.Embedding(5, 3)
        self.body = nn.Sequential(nn.Linear(n_num + 9, 48), nn.GELU(), nn.Dropout(0.1), nn.Linear(48, 48), nn.GELU(), nn.Linear(48, 1))

    def forward(self, rec):
        z = torch.cat([rec["num"], self.diag(rec["diag"]), self.unit(rec["unit"])], dim=1)
        return self.body(z).squeeze(1)


def r2(pred, y):
    return 1 - ((pred - y) ** 2).sum().item() / ((y - y.mean()) ** 2).sum().item()


def main():
    torch.manual_seed(12)
    train = Admissions(5000, seed=1)
    val = Admissions(1500, seed=2, stats=train.stats)
    train_dl = DataLoader(train, batch_size=64, shuffle=True)
    val_dl = DataLoader(val, batch_size=500)
    model = StayModel(len(Admissions.NUMERIC))
    opt = torch.optim.Adam(model.parameters(), lr=1.5e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=15)
    for epoch in range(15):
        model.train()
        run = 0.0
        for rec, y in train_dl:
            loss = nn.functional.mse_loss(model(rec), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            run += loss.item() / len(train_dl)
        sched.step()
        model.eval()
        with torch.no_grad():
            pred = torch.cat([model(rec) for rec, _ in val_dl])
        print(f"epoch {epoch + 1:2d}  train mse {run:.4f}  val mse {nn.functional.mse_loss(pred, val.y).item():.4f}  val R2 {r2(pred, val.y):.3f}")


if __name__ == "__main__":
    main()
