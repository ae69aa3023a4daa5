"""Compressive strength of concrete mixes."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

params = dict(optimizer="adam", lr=1e-3, weight_decay=0.1, epochs=40, batch_size=40, hidden=(64, 64, 64), seed=8)


def mixes(n, rng):
    cement, slag, ash = rng.uniform(100, 540, n), rng.uniform(0, 350, n), rng.uniform(0, 200, n)
    water, plasticiser = rng.uniform(120, 245, n), rng.uniform(0, 30, n)
    coarse, fine, age = rng.uniform(800, 1145, n), rng.uniform(590, 990, n), rng.choice([3, 7, 14, 28, 56, 90, 180], n)
    binder = cement + 0.7 * slag + 0.4 * ash
    strength = 22 * (binder / water) ** 0.9 * (np.log(age + 1) / np.log(29)) ** 0.8 * (1 + 0.006 * plasticiser) - 0.01 * (coarse - 950)
    strength = 0.6 * strength + rng.normal(0, 2.0, n)
    return np.stack([cement, slag, ash, water, plasticiser, coarse, fine, np.log(age)], 1), strength


def standardise(a, ref):
    return torch.tensor((a - ref.mean(0)) / ref.std(0), dtype=torch.float32)


def build_model(n_in, hidden):
    layers = []
    for h in hidden:
        layers += [nn.Linear(n_in, h), nn.ReLU()]
        n_in = h
    return nn.Sequential(*layers, nn.Linear(n_in, 1))


def build_optimizer(model, p):
    if p["optimizer"] == "sgd":
        return torch.optim.SGD(model.parameters(), lr=p["lr"], momentum=0.9, weight_decay=p["weight_decay"])
    return torch.optim.Adam(model.parameters(), lr=p["lr"], weight_decay=p["weight_decay"])


def train(p):
    torch.manual_seed(p["seed"])
    rng = np.random.default_rng(p["seed"])
    x_tr, y_tr = mixes(2000, rng)
    x_te, y_te = mixes(400, rng)
    mpa = y_tr.std()
    X, Xt = standardise(x_tr, x_tr), standardise(x_te, x_tr)
    y, yt = standardise(y_tr, y_tr), standardise(y_te, y_tr)
    model = build_model(8, p["hidden"])
    optimizer = build_optimizer(model, p)
    for epoch in range(1, p["epochs"] + 1):
        model.train()
        total = 0.0
        for ids in torch.randperm(len(y)).split(p["batch_size"]):
            loss = F.mse_loss(model(X[ids]).squeeze(1), y[ids])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(ids)
        model.eval()
        with torch.no_grad():
            test = F.mse_loss(model(Xt).squeeze(1), yt).item()
        if epoch % 4 == 0:
            print(f"epoch {epoch:2d}  train mse {total / len(y):.4f}  test mse {test:.4f}  rmse {mpa * test ** 0.5:.2f} MPa")
    return model


train(params)
