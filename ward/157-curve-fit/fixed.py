# fit a noisy curve with a two-layer net, no optimizer class, just numpy-like code
import torch

torch.manual_seed(9)

N, H = 800, 48
x = torch.rand(N, 1) * 4 - 2
y = torch.sin(2 * x) + 0.3 * x ** 2 - 0.4 + 0.1 * torch.randn(N, 1)
x_val = torch.rand(300, 1) * 4 - 2
y_val = torch.sin(2 * x_val) + 0.3 * x_val ** 2 - 0.4 + 0.1 * torch.randn(300, 1)

W1 = torch.randn(1, H) * 1.4
B1 = torch.randn(H) * 0.5
W2 = torch.randn(H, H) * (2 / H) ** 0.5
B2 = torch.zeros(H)
W3 = torch.randn(H, 1) * (1 / H) ** 0.5
B3 = torch.zeros(1)
weights = [W1, B1, W2, B2, W3, B3]
for p in weights:
    p.requires_grad_(True)


def model(x):
    h = torch.tanh(x @ W1 + B1)
    h = torch.tanh(h @ W2 + B2)
    return h @ W3 + B3


step_size = 0.02
for epoch in range(60):
    total = 0.0
    for chunk in torch.randperm(N).split(40):
        loss = ((model(x[chunk]) - y[chunk]) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for p in weights:
                p -= step_size * p.grad
                p.grad = None
        total += loss.item()
    if epoch % 5 == 4:
        with torch.no_grad():
            v = ((model(x_val) - y_val) ** 2).mean().item()
        print("epoch", epoch + 1, "loss", round(total / 20, 4), "val", round(v, 4))
