from dataclasses import dataclass, asdict

import torch
from sklearn.datasets import load_breast_cancer
from torch import nn


@dataclass
class HParams:
    hidden: int = 32
    dropout: float = 0.2
    lr: float = 1e-7
    weight_decay: float = 1e-3
    batch_size: int = 32
    epochs: int = 14
    seed: int = 0


def load(hp):
    raw = load_breast_cancer()
    x, y = torch.tensor(raw.data, dtype=torch.float32), torch.tensor(raw.target, dtype=torch.float32)
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(hp.seed))
    tr, va = order[:400], order[400:]
    mean, std = x[tr].mean(0), x[tr].std(0)
    x = (x - mean) / std
    return (x[tr], y[tr]), (x[va], y[va])


def fit(hp):
    print(asdict(hp))
    torch.manual_seed(hp.seed)
    (x, y), (xv, yv) = load(hp)
    net = nn.Sequential(nn.Linear(30, hp.hidden), nn.ReLU(), nn.Dropout(hp.dropout),
                        nn.Linear(hp.hidden, hp.hidden), nn.ReLU(), nn.Dropout(hp.dropout), nn.Linear(hp.hidden, 1))
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.AdamW(net.parameters(), lr=hp.lr, weight_decay=hp.weight_decay)
    for epoch in range(1, hp.epochs + 1):
        net.train()
        epoch_loss = 0.0
        for idx in torch.randperm(len(y)).split(hp.batch_size):
            optimizer.zero_grad()
            loss = criterion(net(x[idx]).squeeze(1), y[idx])
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item() * len(idx) / len(y)
        net.eval()
        with torch.no_grad():
            logit = net(xv).squeeze(1)
            val_loss = criterion(logit, yv).item()
            acc = ((logit > 0).float() == yv).float().mean().item()
        if epoch % 2 == 0:
            print(f"epoch {epoch:3d}  loss {epoch_loss:.5f}  val_loss {val_loss:.5f}  val_acc {acc:.4f}")


fit(HParams())
