# neural signed distance of two circles; the eikonal term wants |grad f| = 1
import torch
import torch.nn as nn

torch.manual_seed(0)
C = torch.tensor([[-0.4, 0.0], [0.4, 0.1]])
R = torch.tensor([0.35, 0.3])


def sdf(p):
    return ((p[:, None, :] - C).norm(dim=-1) - R).min(1, keepdim=True).values


f = nn.Sequential(nn.Linear(2, 64), nn.Softplus(beta=10), nn.Linear(64, 64), nn.Softplus(beta=10), nn.Linear(64, 1))
opt = torch.optim.Adam(f.parameters(), lr=4e-3)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.995)
test = torch.rand(2000, 2) * 2 - 1
test_d = sdf(test)

for it in range(1, 361):
    p = (torch.rand(256, 2) * 2 - 1).requires_grad_(True)
    d = f(p)
    fit = (d - sdf(p.detach())).abs().mean()
    (grad,) = torch.autograd.grad(d.sum(), p, create_graph=True)
    eikonal = ((grad.norm(dim=1) - 1) ** 2).mean()
    loss = fit + 0.1 * eikonal
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if it % 36 == 0:
        with torch.no_grad():
            err = (f(test) - test_d).abs().mean().item()
        print(f"it {it} loss {loss.item():.4f} fit {fit.item():.4f} eikonal {eikonal.item():.4f} test abs err {err:.4f}")
