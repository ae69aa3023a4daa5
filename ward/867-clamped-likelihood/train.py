# hit rates by hand: log of clamped probabilities
import torch

torch.manual_seed(13)
w1 = (torch.randn(6, 40) / 6 ** 0.5).requires_grad_()
b1 = torch.zeros(40, requires_grad=True)
w2 = (torch.randn(40, 1) / 40 ** 0.5).requires_grad_()
b2 = torch.zeros(1, requires_grad=True)
params = [w1, b1, w2, b2]
velocity = [torch.zeros_like(p) for p in params]


def shots(n):
    x = torch.randn(n, 6)
    logit = 3 * x[:, 0] - 2 * torch.relu(x[:, 1]) + x[:, 2] * x[:, 3]
    return x, (torch.rand(n) < torch.sigmoid(logit)).float()


def predict(x):
    return torch.sigmoid(torch.tanh(x @ w1 + b1) @ w2 + b2).squeeze(1)


def nll(p, y):
    p = p.clamp(1e-6, 1 - 1e-6)
    return -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()


xt, yt = shots(1000)
for step in range(1, 401):
    x, y = shots(64)
    loss = nll(predict(x), y)
    grads = torch.autograd.grad(loss, params)
    with torch.no_grad():
        for p, v, g in zip(params, velocity, grads):
            v.mul_(0.9).add_(g)
            p -= 0.05 * v
    if step % 40 == 0 or step == 1:
        with torch.no_grad():
            p = predict(xt)
            print(f"step {step:3d} loss {loss.item():.4f} test {nll(p, yt).item():.4f} accuracy {((p > 0.5) == (yt > 0.5)).float().mean().item():.3f}")
