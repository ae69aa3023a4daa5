"""Fit the settings of a camera's response curve to a grey chart with L-BFGS."""
import torch

torch.manual_seed(4)
chart = torch.linspace(0.0, 1.0, 60)
true_gain, true_offset, true_gamma = 1.1, 0.03, 0.45
measured = true_gain * (chart - 0.06).clamp(min=0) ** true_gamma + true_offset + 0.005 * torch.randn(60)

gain = torch.tensor(0.5, requires_grad=True)
black = torch.tensor(0.0, requires_grad=True)
gamma = torch.tensor(1.0, requires_grad=True)
offset = torch.tensor(0.2, requires_grad=True)
settings = [gain, black, gamma, offset]
optimizer = torch.optim.LBFGS(settings, lr=0.8, max_iter=8, history_size=6)


def response(light):
    return gain * (light - black).clamp(min=1e-6) ** gamma + offset


def closure():
    optimizer.zero_grad()
    misfit = response(chart) - measured
    loss = 40 * misfit.pow(2).mean()
    loss.backward()
    return loss


for round_ in range(25):
    loss = optimizer.step(closure)
    if round_ % 4 == 0:
        print(f"round {round_:2d} misfit {loss.item():.6f} gain {gain.item():.3f} black {black.item():.4f} gamma {gamma.item():.3f}")
