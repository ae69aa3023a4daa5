import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.metrics import precision_score, recall_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler


def load_transactions(n=16000, seed=4):
    """Card payments: log amount, hour, distance to home, days since last payment, merchant risk, foreign flag, ..."""
    rng = np.random.default_rng(seed)
    amount = rng.normal(3.2, 1.1, n)
    hour = rng.integers(0, 24, n)
    distance = rng.exponential(12, n)
    gap = rng.exponential(3, n)
    merchant = rng.beta(2, 6, n)
    foreign = rng.random(n) < 0.08
    n_today = rng.poisson(1.5, n)
    age = rng.uniform(18, 85, n)
    night = (hour < 6).astype(float)
    score = (0.6 * (amount - 3.2) + 0.9 * night + 0.03 * (distance - 12) + 2.5 * (merchant - 0.25)
             + 0.8 * foreign + 0.3 * (n_today - 1.5) - 4.4)
    fraud = rng.random(n) < 1 / (1 + np.exp(-score))
    X = np.stack([amount, np.sin(hour / 24 * 2 * np.pi), np.cos(hour / 24 * 2 * np.pi), night, distance, gap,
                  merchant, foreign, n_today, age], 1)
    return X.astype(np.float32), fraud.astype(np.float32)


def build_model(n_in):
    return nn.Sequential(
        nn.Linear(n_in, 24), nn.ReLU(),
        nn.Linear(24, 12), nn.ReLU(),
        nn.Linear(12, 1),
    )


@torch.no_grad()
def report(model, loader, loss_fn):
    model.eval()
    logits, labels = [], []
    for xb, yb in loader:
        logits.append(model(xb).squeeze(1))
        labels.append(yb)
    logits, labels = torch.cat(logits), torch.cat(labels)
    flagged = (torch.sigmoid(logits) > 0.5).int().numpy()
    truth = labels.int().numpy()
    return {
        "loss": loss_fn(logits, labels).item(),
        "acc": (flagged == truth).mean(),
        "precision": precision_score(truth, flagged, zero_division=0),
        "recall": recall_score(truth, flagged, zero_division=0),
        "auc": roc_auc_score(truth, logits.numpy()),
    }


def main():
    torch.manual_seed(4)
    X, y = load_transactions()
    X_tr, X_va, y_tr, y_va = train_test_split(X, y, test_size=0.25, stratify=y, random_state=1)
    scaler = StandardScaler().fit(X_tr)
    X_tr, X_va = torch.tensor(scaler.transform(X_tr)), torch.tensor(scaler.transform(X_va))
    y_tr, y_va = torch.tensor(y_tr), torch.tensor(y_va)
    train_dl = DataLoader(TensorDataset(X_tr, y_tr), batch_size=128, shuffle=True)
    valid_dl = DataLoader(TensorDataset(X_va, y_va), batch_size=1000)

    model = build_model(X.shape[1])
    loss_fn = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
    for epoch in range(1, 15):
        model.train()
        running = 0.0
        for xb, yb in train_dl:
            optimizer.zero_grad()
            loss = loss_fn(model(xb).squeeze(1), yb)
            loss.backward()
            optimizer.step()
            running += loss.item() * len(yb)
        if epoch % 2 == 0:
            m = report(model, valid_dl, loss_fn)
            print(f"[{epoch:2d}] train loss {running / len(y_tr):.4f} | " + " ".join(f"{k} {v:.3f}" for k, v in m.items()))


if __name__ == "__main__":
    main()
