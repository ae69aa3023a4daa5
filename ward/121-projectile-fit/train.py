import numpy as np
import torch

# range of a thrown ball with drag, fitted with a two-layer net written by hand
rng = np.random.default_rng(6)
speed = rng.uniform(5, 30, 3000)
angle = rng.uniform(0.2, 1.3, 3000)
drag = rng.uniform(0.0, 0.05, 3000)
distance = speed ** 2 * np.sin(2 * angle) / 9.81 / (1 + drag * speed) + rng.normal(0, 1.0, 3000)

table = np.column_stack([speed, angle, drag, distance]).astype(np.float32)
table = (table - table.mean(0)) / table.std(0)
data = torch.from_numpy(table)
x, y = data[:, :3], data[:, 3:]
x_train, y_train, x_test, y_test = x[:2500], y[:2500], x[2500:], y[2500:]

torch.manual_seed(6)
params = {
    "w1": torch.randn(3, 40) * (2 / 3) ** 0.5,
    "b1": torch.zeros(40),
    "w2": torch.randn(40, 40) * (2 / 40) ** 0.5,
    "b2": torch.zeros(40),
    "w3": torch.randn(40, 1) * (1 / 40) ** 0.5,
    "b3": torch.zeros(1),
}
for p in params.values():
    p.requires_grad_()


def net(x, p):
    h = torch.relu(x @ p["w1"] + p["b1"])
    h = torch.relu(h @ p["w2"] + p["b2"])
    return (h @ p["w3"] + p["b3"])[:, 0]


def squared_error(pred, target):
    return ((pred - target) ** 2).mean()


opt = torch.optim.SGD(params.values(), lr=0.02, momentum=0.9)
for epoch in range(30):
    epoch_loss = []
    for idx in torch.randperm(len(x_train)).split(50):
        loss = squared_error(net(x_train[idx], params), y_train[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        epoch_loss.append(loss.item())
    if epoch % 3 == 2:
        with torch.no_grad():
            pred = net(x_test, params)
            corr = np.corrcoef(pred.flatten().numpy(), y_test.flatten().numpy())[0, 1]
        print(f"epoch {epoch + 1}: loss {np.mean(epoch_loss):.4f}, test rmse "
              f"{(pred.flatten() - y_test.flatten()).pow(2).mean().sqrt().item():.4f}, corr {corr:.3f}")
