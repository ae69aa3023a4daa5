"""Tries two learning rates at the same time, each in a process of its own, and prints the better one."""

import torch
import torch.multiprocessing as mp
from sklearn.datasets import load_diabetes
from torch import nn

RATES = (1e-3, 4e-3)


def data():
    raw = load_diabetes()
    x = torch.tensor(raw.data, dtype=torch.float32) * 20
    y = torch.tensor(raw.target, dtype=torch.float32)[:, None]
    return x, (y - y.mean()) / y.std()


def fit(index, results):
    torch.manual_seed(0)
    x, y = data()
    train, held_out = slice(0, 340), slice(340, None)
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=RATES[index], weight_decay=1e-4)
    for epoch in range(12):
        for rows in torch.randperm(340).split(34):
            loss = nn.functional.mse_loss(model(x[train][rows]), y[train][rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        results[index] = nn.functional.mse_loss(model(x[held_out]), y[held_out])


def main():
    results = torch.zeros(len(RATES)).share_memory_()
    mp.spawn(fit, args=(results,), nprocs=len(RATES))
    for rate, error in zip(RATES, results.tolist()):
        print(f"lr {rate}: held-out error {error:.5f}")
    print(f"best: {RATES[int(results.argmin())]}")


if __name__ == "__main__":
    main()
