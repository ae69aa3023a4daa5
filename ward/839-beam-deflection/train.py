# deflection of a beam along its length, fit with plain gradient descent
import torch

torch.manual_seed(5)
W = [torch.randn(4, 48) * 0.5, torch.randn(48, 48) * 0.15, torch.randn(48, 1) * 0.15]
B = [torch.zeros(48), torch.zeros(48), torch.zeros(1)]
params = [p.requires_grad_() for p in W + B]
LR = 4.0


def model(x):
    h = torch.nn.functional.silu(x @ W[0] + B[0])
    h = torch.nn.functional.silu(h @ W[1] + B[1])
    return h @ W[2] + B[2]


def beams(n):
    x = torch.rand(n, 4) * 2 - 1
    a, load, depth, pos = x.T
    return x, (2.0 * load * (1 - pos ** 2) * (1.2 + a) - 1.5 * depth * load).unsqueeze(1)


xt, yt = beams(500)
for it in range(1, 301):
    x, y = beams(64)
    loss = ((model(x) - y) ** 2).mean()
    grads = torch.autograd.grad(loss, params)
    with torch.no_grad():
        for p, g in zip(params, grads):
            p -= LR * g
    if it % 25 == 0 or it <= 5:
        with torch.no_grad():
            print(f"iter {it:3d} loss {loss.item():.5g} test {((model(xt) - yt) ** 2).mean().item():.5g}")
