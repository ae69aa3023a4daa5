"""Lane-Emden equation (n = 1) by a physics-informed net: th'' + 2/r th' + th = 0, th(0) = 1, th'(0) = 0."""
import torch
import torch.nn as nn

torch.manual_seed(20)
GRID = 1500
R = 3.0


class Theta(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, r):
        return 1 + r * self.net(r / R * 2 - 1)


def residual(model, r):
    r.requires_grad_(True)
    th = model(r)
    d1 = torch.autograd.grad(th.sum(), r, create_graph=True)[0]
    d2 = torch.autograd.grad(d1.sum(), r, create_graph=True)[0]
    return d2 + 2 / r * d1 + th


def slope_at_centre(model):
    r0 = torch.zeros(1, 1, requires_grad=True)
    return torch.autograd.grad(model(r0).sum(), r0, create_graph=True)[0]


model = Theta()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
sched = torch.optim.lr_scheduler.StepLR(opt, 100, 0.4)
check = torch.linspace(0.01, R, 200)[:, None]
exact = torch.sin(check) / check
for step in range(301):
    r = torch.randint(0, GRID, (20, 1)) * (R / GRID)
    loss = residual(model, r).pow(2).mean() + 10 * slope_at_centre(model).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 10.0)
    opt.step()
    sched.step()
    if step % 50 == 0:
        with torch.no_grad():
            err = (model(check) - exact).abs().max().item()
        print(f"step {step:3d} loss {loss.item():.5f} max error {err:.4f}")
