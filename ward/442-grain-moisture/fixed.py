"""Moisture of grain samples from near-infrared absorbances; weights as plain tensors."""
import math

import torch

gen = torch.Generator().manual_seed(21)


def absorbances(n):
    moisture = 10 + 8 * torch.rand(n, generator=gen)
    protein = 9 + 5 * torch.rand(n, generator=gen)
    wave = torch.linspace(0, 1, 40)
    band = torch.exp(-((wave - 0.35) / 0.08) ** 2) * moisture[:, None] / 12 + torch.exp(-((wave - 0.7) / 0.1) ** 2) * protein[:, None] / 11
    curve = torch.tanh(band) + 0.01 * torch.randn(n, 40, generator=gen)
    return (curve - 0.3) / 0.3, ((moisture - 14) / 2.3).unsqueeze(1)


def init(fan_in, fan_out):
    return (torch.randn(fan_in, fan_out, generator=gen) / math.sqrt(fan_in)).requires_grad_()


w1, b1 = init(40, 64), torch.zeros(64, requires_grad=True)
w2, b2 = init(64, 32), torch.zeros(32, requires_grad=True)
w3, b3 = init(32, 1), torch.zeros(1, requires_grad=True)
weights = [w1, b1, w2, b2, w3, b3]


def predict(x):
    h = torch.relu(x @ w1 + b1)
    h = torch.relu(h @ w2 + b2)
    return h @ w3 + b3


x_train, y_train = absorbances(720)
x_test, y_test = absorbances(200)
rate = 8e-3
adam = torch.optim.Adam(weights, lr=rate, betas=(0.9, 0.99))
for epoch in range(1, 31):
    seen = 0.0
    for rows in torch.randperm(720, generator=gen).split(90):
        error = predict(x_train[rows]) - y_train[rows]
        loss = error.square().mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        seen += loss.item() / 8
    if epoch % 3 == 0:
        with torch.no_grad():
            rmse = (predict(x_test) - y_test).square().mean().sqrt().item()
        print(f"epoch {epoch:2d}  loss {seen:.5f}  test rmse {rmse:.4f}")
