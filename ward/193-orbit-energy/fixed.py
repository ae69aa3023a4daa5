# surrogate for the energy of a double pendulum, network written as a function of a parameter list
import math
import torch
import torch.nn.functional as F

torch.manual_seed(88)


def energy(state):
    a, b, wa, wb = state.unbind(1)
    kinetic = wa ** 2 + 0.5 * wb ** 2 + wa * wb * torch.cos(a - b)
    return kinetic - 2 * torch.cos(a) - torch.cos(b)


def init(sizes):
    params = []
    for n_in, n_out in zip(sizes[:-1], sizes[1:]):
        params.append((torch.randn(n_out, n_in) / math.sqrt(n_in)).requires_grad_())
        params.append(torch.zeros(n_out, requires_grad=True))
    return params


def forward(params, x):
    for w, b in zip(params[:-2:2], params[1:-2:2]):
        x = torch.tanh(F.linear(x, w, b))
    return F.linear(x, params[-2], params[-1]).squeeze(1)


def clear(params):
    for p in params:
        if p.grad is not None:
            p.grad.zero_()


states = 2 * torch.rand(4000, 4) - 1
states[:, :2] *= 1.5
e = energy(states)
e = (e - e.mean()) / e.std()
x, y, x_val, y_val = states[:3200], e[:3200], states[3200:], e[3200:]

params = init([4, 64, 32, 1])
opt = torch.optim.Adam(params, lr=8e-3)
sched = torch.optim.lr_scheduler.LinearLR(opt, start_factor=1.0, end_factor=0.1, total_iters=600)
avg = 0.0
for it in range(600):
    rows = torch.randint(0, len(x), (64,))
    loss = F.mse_loss(forward(params, x[rows]), y[rows])
    loss.backward()
    opt.step()
    clear(params)
    sched.step()
    avg += loss.item() / 60
    if (it + 1) % 60 == 0:
        with torch.no_grad():
            print(f"{it + 1:4d}  train {avg:.4f}  val {F.mse_loss(forward(params, x_val), y_val):.4f}")
        avg = 0.0
