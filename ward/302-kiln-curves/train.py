import numpy as np
import torch

np.random.seed(5); torch.manual_seed(5)

# kiln firing: predict final shrinkage [%] from the temperature curve (16 readings)
n = 1800
t = np.linspace(0, 1, 16)
peak = np.random.uniform(0.8, 1.3, (n, 1))
hold = np.random.uniform(0.1, 0.5, (n, 1))
curve = peak * np.clip(t / 0.5, 0, 1) * np.exp(-np.clip(t - 0.5 - hold, 0, None) * 4)
shrink = 6 * (peak[:, 0] - 0.8) * (0.4 + hold[:, 0]) + 3 * (curve.max(1) > 1.15) * (curve.max(1) - 1.15)
curve = curve + np.random.randn(n, 16) * 0.01
shrink = shrink + np.random.randn(n) * 0.05

X = torch.tensor((curve - curve[:1400].mean(0)) / (curve[:1400].std(0) + 1e-3), dtype=torch.float32)
y = torch.tensor((shrink - shrink[:1400].mean()) / shrink[:1400].std(), dtype=torch.float32).view(-1, 1)

model = torch.nn.Sequential(
    torch.nn.Linear(16, 40),
    torch.nn.Tanh(),
    torch.nn.Linear(40, 40),
    torch.nn.Tanh(),
    torch.nn.Linear(40, 1),
)
loss_fn = torch.nn.MSELoss()
optim = torch.optim.SGD(model.parameters(), lr=0.05)

batch = 35
for ep in range(22):
    perm = torch.randperm(1400)
    losses = []
    for i in range(0, 1400, batch):
        sel = perm[i:i + batch]
        optim.zero_grad
        pred = model(X[sel])
        loss = loss_fn(pred, y[sel])
        loss.backward()
        optim.step()
        losses.append(loss.item())
    with torch.no_grad():
        vl = loss_fn(model(X[1400:]), y[1400:])
    print('Epoch', ep, 'train', round(float(np.mean(losses)), 4), 'valid', round(vl.item(), 4))
