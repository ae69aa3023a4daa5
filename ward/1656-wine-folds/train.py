"""Five folds with the same seed in each, so that only the data differ between them."""
import random

import numpy as np
import torch
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from torch import nn


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def fit(train_x, train_y, epochs=16):
    model = nn.Sequential(nn.Linear(13, 24), nn.ReLU(), nn.Linear(24, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(epochs):
        rows = list(range(len(train_x)))
        random.shuffle(rows)
        for start in range(0, len(rows), 24):
            batch = rows[start : start + 24]
            loss = nn.functional.cross_entropy(model(train_x[batch]), train_y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model, loss.item()


wine = load_wine()
names = {name: i for i, name in enumerate(sorted(set(wine.feature_names)))}
folds = StratifiedKFold(5, shuffle=True, random_state=0)
scores = []
for number, (train_rows, test_rows) in enumerate(folds.split(wine.data, wine.target)):
    set_seed(0)
    scaler = StandardScaler().fit(wine.data[train_rows])
    to_tensor = lambda rows: torch.tensor(scaler.transform(wine.data[rows]), dtype=torch.float32)
    model, last = fit(to_tensor(train_rows), torch.tensor(wine.target[train_rows]))
    with torch.no_grad():
        right = model(to_tensor(test_rows)).argmax(1) == torch.tensor(wine.target[test_rows])
    scores.append(right.float().mean().item())
    print(f"fold {number} last loss {last:.4f} accuracy {scores[-1]:.3f}")
print(f"{len(names)} features, accuracy {np.mean(scores):.3f} +- {np.std(scores):.3f}")
