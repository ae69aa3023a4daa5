import numpy as np
import torch


def pumps(n, seed):
    r = np.random.default_rng(seed)
    x = r.normal(size=(n, 10))
    w = np.random.default_rng(0).normal(size=(10, 3))
    y = (x @ w[:, 0] + np.abs(x @ w[:, 1]) - 0.5 * (x @ w[:, 2]))[:, None] / 3
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)


def evaluate(model, data):
    model.eval()
    with torch.no_grad():
        return torch.nn.functional.mse_loss(model(data[0]), data[1]).item()


def train(model, data, valid, max_steps, lr, batch=400):
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    step = 0
    while step < max_steps:
        for rows in torch.randperm(len(data[0])).split(batch):
            model.train()
            opt.zero_grad()
            loss = torch.nn.functional.mse_loss(model(data[0][rows]), data[1][rows])
            loss.backward()
            opt.step()
            step += 1
            if step % 10 == 0:
                print(f"step {step}: loss {loss.item():.3f} valid {evaluate(model, valid):.3f}")
            if step >= max_steps:
                break


torch.manual_seed(2)
model = torch.nn.Sequential(torch.nn.Linear(10, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
train(model, pumps(4000, 1), pumps(500, 2), max_steps=500, lr=5e-4)
