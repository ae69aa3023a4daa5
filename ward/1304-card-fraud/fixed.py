import argparse

import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import balanced_accuracy_score, recall_score
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--rows", type=int, default=28000)
    p.add_argument("--epochs", type=int, default=7)
    p.add_argument("--bs", type=int, default=256)
    p.add_argument("--lr", type=float, default=1.5e-3)
    p.add_argument("--seed", type=int, default=5)
    return p.parse_args([])


def transactions(n, seed):
    rng = np.random.default_rng(seed)
    merchant = rng.integers(0, 30, n)
    country = rng.integers(0, 12, n)
    fraud = rng.random(n) < 0.02
    # fraudsters prefer some merchants and countries, spend more, at night, and in bursts
    merchant = np.where(fraud & (rng.random(n) < 0.45), rng.integers(24, 30, n), merchant)
    country = np.where(fraud & (rng.random(n) < 0.45), rng.integers(9, 12, n), country)
    amount = rng.normal(3.0, 1.0, n) + 1.1 * fraud
    hour = rng.normal(14, 4, n) - 3.5 * fraud
    burst = rng.normal(0, 1, n) + 1.3 * fraud
    age = rng.normal(0, 1, n) - 0.5 * fraud
    num = np.stack([amount, hour, burst, age], 1)
    return num.astype("float32"), np.stack([merchant, country], 1), fraud.astype("float32")


class FraudNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.merchant = nn.Embedding(30, 6)
        self.country = nn.Embedding(12, 4)
        self.mlp = nn.Sequential(nn.Linear(14, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, num, cat):
        x = torch.cat([num, self.merchant(cat[:, 0]), self.country(cat[:, 1])], 1)
        return self.mlp(x).squeeze(1)


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    num, cat, y = transactions(args.rows, args.seed)
    tr, va = train_test_split(np.arange(len(y)), test_size=0.25, stratify=y, random_state=args.seed)
    num = (num - num[tr].mean(0)) / num[tr].std(0)
    parts = [TensorDataset(*(torch.from_numpy(a[i]) for a in (num, cat, y))) for i in (tr, va)]
    train_dl = DataLoader(parts[0], args.bs, shuffle=True)
    val_dl = DataLoader(parts[1], 2000)

    model = FraudNet()
    criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor((1 - y[tr].mean()) / y[tr].mean()))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        model.train()
        losses = []
        for n, c, t in train_dl:
            optimizer.zero_grad()
            loss = criterion(model(n, c), t)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            logits = torch.cat([model(n, c) for n, c, _ in val_dl])
        pred, true = (logits > 0).long().numpy(), y[va].astype(int)
        vloss = criterion(logits, torch.from_numpy(y[va])).item()
        print(f"epoch {epoch + 1} loss {np.mean(losses):.4f} val_loss {vloss:.4f} acc {(pred == true).mean():.4f} "
              f"balanced acc {balanced_accuracy_score(true, pred):.3f} fraud caught {recall_score(true, pred):.3f}")


main()
