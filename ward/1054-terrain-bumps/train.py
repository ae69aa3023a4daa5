# Fit a terrain height field with Gaussian bumps (radial basis functions with learned centres, widths and weights).
import torch

torch.manual_seed(23)

n_bumps = 5
n_steps = 500
batch = 128


def terrain(p):
    x, y = p[:, 0], p[:, 1]
    return torch.sin(2.2 * x) * torch.cos(1.8 * y) + 0.5 * torch.sin(3.1 * x + 1.5 * y) + 0.3 * torch.cos(4 * y - x)


points = torch.rand(4000, 2) * 4 - 2
height = terrain(points)
height = (height - height.mean()) / height.std()
train_p, train_h = points[:3200], height[:3200]
test_p, test_h = points[3200:], height[3200:]

centres = (torch.rand(n_bumps, 2) * 4 - 2).requires_grad_()
log_width = torch.full((n_bumps,), -0.5).requires_grad_()
weights = (0.3 * torch.randn(n_bumps)).requires_grad_()
offset = torch.zeros(1, requires_grad=True)


def predict(p):
    d2 = ((p[:, None] - centres[None]) ** 2).sum(-1)
    phi = torch.exp(-d2 / (2 * torch.exp(2 * log_width)))
    return phi @ weights + offset


optimizer = torch.optim.Adam([centres, log_width, weights, offset], lr=0.03)
for step in range(n_steps):
    idx = torch.randint(0, len(train_p), (batch,))
    loss = torch.mean((predict(train_p[idx]) - train_h[idx]) ** 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 50 == 0:
        with torch.no_grad():
            test = torch.mean((predict(test_p) - test_h) ** 2)
        print(f"step {step + 1:4d}: batch mse {loss.item():.4f}, test mse {test.item():.4f}")
