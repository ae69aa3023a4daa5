import copy
import torch
import torch.nn as nn
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

config = {"hidden": [8, 16, 32], "dropout": 0.3, "lr": 3e-3, "epochs": 20, "batch": 32, "val": 20, "seed": 0}


def patients():
    """Admission after the emergency room: 24 measurements per patient; the last 2500 came after the study."""
    X, y = make_classification(n_samples=4300, n_features=24, n_informative=8, n_redundant=4, n_clusters_per_class=2,
                               class_sep=0.9, flip_y=0.12, random_state=17)
    return X[:1800], y[:1800], X[1800:], y[1800:]


def build(hidden, dropout):
    return nn.Sequential(nn.Linear(24, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, 2))


def accuracy(model, X, y):
    model.eval()
    with torch.no_grad():
        return (model(X).argmax(1) == y).float().mean().item()


def train(model, data, cfg):
    X, y, X_val, y_val = data
    opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"], weight_decay=0.01)
    best, best_state = 0.0, None
    for epoch in range(cfg["epochs"]):
        model.train()
        total = 0.0
        for b in torch.randperm(len(y)).split(cfg["batch"]):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(X[b]), y[b])
            loss.backward()
            opt.step()
            total += loss.item() * len(b)
        acc = accuracy(model, X_val, y_val)
        if acc > best:
            best, best_state = acc, copy.deepcopy(model.state_dict())
        print(f"  epoch {epoch + 1:2d} train loss {total / len(y):.4f} val acc {acc:.3f}")
    model.load_state_dict(best_state)
    return best


def main(cfg):
    X, y, X_later, y_later = patients()
    X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=cfg["val"], random_state=cfg["seed"])
    scaler = StandardScaler().fit(X_train)
    X_train, X_val, X_later = (torch.tensor(scaler.transform(a), dtype=torch.float32) for a in (X_train, X_val, X_later))
    y_train, y_val, y_later = (torch.tensor(a) for a in (y_train, y_val, y_later))
    results = {}
    for hidden in cfg["hidden"]:
        torch.manual_seed(cfg["seed"])
        print("hidden", hidden)
        model = build(hidden, cfg["dropout"])
        results[hidden] = train(model, (X_train, y_train, X_val, y_val), cfg), model
    winner = max(results, key=lambda h: results[h][0])
    acc, model = results[winner]
    print(f"best: hidden={winner} val acc {acc:.3f}; patients after the study: {accuracy(model, X_later, y_later):.3f}")


main(config)
