import numpy as np
import torch


def pumps(n, seed):
    r = np.random.default_rng(seed)
    x = r.normal(size=(n, 10))
    w = np.random.default_rng(0).normal(size=(10, 3))
    y = (x @ w[:, 0] + np.abs(x @ w[:, 1]) - 0.5 * (x @ w[:, 2]))[:, None] / 3
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)


def fit(model, data, valid, max_steps, lr):
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    for step in range(1, max_steps + 1):
        opt.zero_grad()
        loss = torch.nn.functional.mse_loss(model(data[0]), data[1])
        loss.backward()
        opt.step()
        if step % 10 == 0:
            with torch.no_grad():
                error = torch.nn.functional.mse_loss(model(valid[0]), valid[1]).item()
            print(f"step {step}: loss {loss.item():.3f} valid {error:.3f}")


torch.manual_seed(2)
model = torch.nn.Sequential(torch.nn.Linear(10, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
fit(model, pumps(2000, 1), pumps(500, 2), max_steps=25, lr=8e-4)
