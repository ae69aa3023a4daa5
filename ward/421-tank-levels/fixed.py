import torch
import torch.nn.functional as F


def make_series(length, gen):
    """Fill level (0..1) of three coupled tanks, sampled every minute."""
    t = torch.arange(length).float()
    phase = torch.rand(3, generator=gen) * 6.28
    speed = torch.tensor([0.11, 0.17, 0.23])
    level = 0.5 + 0.3 * torch.sin(speed[:, None] * t + phase[:, None])
    level[1] = 0.6 * level[1] + 0.4 * level[0].roll(5)
    return (level + 0.015 * torch.randn(3, length, generator=gen)).clamp(0, 1)


def windows(series, past=12, ahead=4):
    xs, ys = [], []
    for start in range(series.shape[1] - past - ahead):
        xs.append(series[:, start:start + past].reshape(-1))
        ys.append(series[:, start + past + ahead - 1])
    return torch.stack(xs) * 4 - 2, torch.stack(ys)


def init(n_in, n_hidden, n_out):
    return [(torch.randn(n_hidden, n_in) / n_in ** 0.5).requires_grad_(), torch.zeros(n_hidden, requires_grad=True),
            (torch.randn(n_out, n_hidden) / n_hidden ** 0.5).requires_grad_(), torch.full((n_out,), 0.5, requires_grad=True)]


def predict(w, x):
    return F.linear(torch.tanh(F.linear(x, w[0], w[1])), w[2], w[3])


torch.manual_seed(6)
gen = torch.Generator().manual_seed(6)
series = make_series(1400, gen)
x_train, y_train = windows(series[:, :1000])
x_val, y_val = windows(series[:, 1000:])
weights = init(36, 32, 3)
optimizer = torch.optim.Adam(weights, lr=3e-3)

for epoch in range(1, 11):
    total, count = 0.0, 0
    for rows in torch.randperm(len(x_train)).split(48):
        loss = F.mse_loss(predict(weights, x_train[rows]), y_train[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total, count = total + loss.item(), count + 1
    with torch.no_grad():
        error = (predict(weights, x_val) - y_val).abs().mean().item()
    print(f"epoch {epoch:2d} | loss {total / count:.5f} | mean level error on later minutes {error:.4f}")
