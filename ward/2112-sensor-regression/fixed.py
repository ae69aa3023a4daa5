import argparse

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_friedman1

ap = argparse.ArgumentParser(description="calibrate a noisy gas sensor")
ap.add_argument("--batch-size", type=int, default=64)
ap.add_argument("--lr", type=float, default=8e-3)
ap.add_argument("--max-steps", type=int, default=3000)
ap.add_argument("--eval-every", type=int, default=250)
args = ap.parse_args()

torch.manual_seed(12)


def load(n, seed):
    X, y = make_friedman1(n_samples=n, n_features=10, noise=0.0, random_state=seed)
    y = y + 2.5 * np.random.default_rng(seed).standard_normal(n)
    X = (X - 0.5) * np.sqrt(12)
    return torch.tensor(X, dtype=torch.float32), torch.tensor((y - 14.4) / 5.0, dtype=torch.float32).unsqueeze(1)


def forever(X, y, size):
    while True:
        for idx in torch.randperm(len(X)).split(size):
            if len(idx) == size:
                yield X[idx], y[idx]


X_train, y_train = load(20000, 0)
X_val, y_val = load(2000, 1)
stream = forever(X_train, y_train, args.batch_size)

model = nn.Sequential(
    nn.Linear(10, 32), nn.ReLU(),
    nn.Linear(32, 32), nn.ReLU(),
    nn.Linear(32, 1),
)
opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
loss_fn = nn.MSELoss()
history = []
for step in range(1, args.max_steps + 1):
    xb, yb = next(stream)
    loss = loss_fn(model(xb), yb)
    opt.zero_grad()
    loss.backward()
    opt.step()
    history.append(loss.item())
    if step % args.eval_every == 0:
        model.eval()
        with torch.no_grad():
            val = loss_fn(model(X_val), y_val).item()
        model.train()
        print(f"step {step:5d} train {np.mean(history):.4f} (std {np.std(history):.2f}) val {val:.4f} R2 {1 - val / y_val.var().item():.3f}")
        history = []
