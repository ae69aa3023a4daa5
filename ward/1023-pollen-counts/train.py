"""Tomorrow's pollen count (log) from today's weather. Counts are noisy: a good model explains about a fifth of the variance."""
import numpy as np
import torch
import torch.nn.functional as F
from sklearn.linear_model import Ridge

rng = np.random.default_rng(30)
torch.manual_seed(30)


def seasons(n):
    x = rng.normal(size=(n, 8)).astype(np.float32)
    trend = 0.30 * x[:, 0] - 0.20 * x[:, 1] + 0.75 * np.maximum(x[:, 2], 0) * (x[:, 3] > 0) + 0.35 * np.sin(2 * x[:, 4])
    return x, (trend - trend.mean() + rng.normal(0, 0.95, n)).astype(np.float32)


x_train, y_train = seasons(8000)
x_test, y_test = seasons(1500)
linear = Ridge(alpha=1.0).fit(x_train, y_train)
print(f"variance of the target {y_test.var():.3f}; ridge: test mse {np.mean((linear.predict(x_test) - y_test) ** 2):.3f}")

x_train, y_train, x_test, y_test = map(torch.from_numpy, (x_train, y_train, x_test, y_test))


def init(n_in, n_out):
    return (torch.randn(n_in, n_out) * (2 / n_in) ** 0.5).requires_grad_(), torch.zeros(n_out, requires_grad=True)


w1, b1 = init(8, 32)
w2, b2 = init(32, 1)
with torch.no_grad():
    w2.mul_(0.3)
params = [w1, b1, w2, b2]


def predict(x):
    return (torch.relu(x @ w1 + b1) @ w2 + b2).squeeze(1)


optimizer = torch.optim.AdamW(params, lr=5e-3, weight_decay=1e-3)
EPOCHS, BATCH = 5, 80
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS * (len(x_train) // BATCH))
for epoch in range(EPOCHS):
    losses = []
    for idx in torch.randperm(len(x_train)).split(BATCH):
        loss = F.mse_loss(predict(x_train[idx]), y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    with torch.no_grad():
        test = F.mse_loss(predict(x_test), y_test).item()
    print(f"epoch {epoch + 1}: train mse {np.mean(losses):.4f} (batches {min(losses):.2f} .. {max(losses):.2f})  test mse {test:.4f}  R2 {1 - test / y_test.var().item():.3f}")
