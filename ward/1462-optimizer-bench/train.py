"""Compares optimizers on one task: the same network, seed and batches for each of them. The baseline is run again at the end, to see that nothing leaks."""

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_wine
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 25


def make_loader():
    data = load_wine()
    x = (data.data - data.data.mean(0)) / data.data.std(0)
    return DataLoader(TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(data.target)), batch_size=16, shuffle=True)


def make_model():
    return nn.Sequential(nn.Linear(13, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 3))


def train(make_optimizer):
    torch.manual_seed(7)
    loader, model = make_loader(), make_model()
    optimizer = make_optimizer(model.parameters())
    history = []
    for _ in range(EPOCHS):
        losses = []
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        history.append(float(np.mean(losses)))
    return model, history


CANDIDATES = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=3e-3),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=2e-3),
    "sgd again": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
}

trained = {}
for name, make_optimizer in CANDIDATES.items():
    model, history = train(make_optimizer)
    trained[name] = model
    print(f"{name:10s} " + " ".join(f"{h:.4f}" for h in history[4::5]))

same = all(torch.equal(a, b) for a, b in zip(trained["sgd"].parameters(), trained["sgd again"].parameters()))
print("sgd is reproducible:", same)
