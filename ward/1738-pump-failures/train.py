"""Predict whether a pump fails within the next week from its daily telemetry."""
import numpy as np
import torch
from sklearn.metrics import balanced_accuracy_score, precision_score, recall_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

NAMES = ["vibration", "bearing_temp", "flow", "pressure", "current", "age", "starts", "oil_ppm", "ambient", "load"]


def telemetry(n, rng):
    x = rng.normal(size=(n, len(NAMES)))
    x[:, 1] = 0.5 * x[:, 0] + 0.85 * x[:, 1]
    x[:, 7] = np.abs(x[:, 7])
    risk = (-5.5 + 1.1 * x[:, 0] + 0.8 * x[:, 1] - 0.8 * x[:, 2] + 0.6 * x[:, 7] + 0.5 * x[:, 5]
            + 0.4 * x[:, 4] * x[:, 9])
    fails = rng.random(n) < 1 / (1 + np.exp(-risk))
    return x.astype("float32"), fails.astype("float32")


def build(n_in):
    return nn.Sequential(nn.Linear(n_in, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 1))


def report(model, loader, loss_fn):
    model.eval()
    with torch.no_grad():
        pairs = [(model(x).squeeze(1), y) for x, y in loader]
    logits, y = (torch.cat(t) for t in zip(*pairs))
    pred = (logits > 0).int().numpy()
    return {
        "loss": loss_fn(logits, y).item(),
        "acc": (pred == y.numpy()).mean(),
        "recall": recall_score(y, pred, zero_division=0),
        "precision": precision_score(y, pred, zero_division=0),
        "bal_acc": balanced_accuracy_score(y, pred),
    }


def main():
    rng = np.random.default_rng(77)
    torch.manual_seed(77)
    x, y = telemetry(24000, rng)
    x_tr, x_va, y_tr, y_va = train_test_split(x, y, test_size=0.25, stratify=y, random_state=1)
    scaler = StandardScaler().fit(x_tr)
    x_tr, x_va = (torch.tensor(scaler.transform(a), dtype=torch.float32) for a in (x_tr, x_va))
    y_tr, y_va = torch.tensor(y_tr), torch.tensor(y_va)
    train_dl = DataLoader(TensorDataset(x_tr, y_tr), batch_size=128, shuffle=True)
    val_dl = DataLoader(TensorDataset(x_va, y_va), batch_size=2000)

    model = build(x.shape[1])
    loss_fn = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
    for epoch in range(1, 13):
        model.train()
        total = 0.0
        for xb, yb in train_dl:
            optimizer.zero_grad()
            loss = loss_fn(model(xb).squeeze(1), yb)
            loss.backward()
            optimizer.step()
            total += loss.item()
        m = report(model, val_dl, loss_fn)
        print(f"epoch {epoch:2d} train {total / len(train_dl):.4f} "
              + " ".join(f"{k} {v:.3f}" for k, v in m.items()))


if __name__ == "__main__":
    main()
