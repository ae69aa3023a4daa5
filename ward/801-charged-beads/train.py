# learn the pair potential of beads in a box from recorded energies
import torch

torch.manual_seed(11)
BEADS = 6


def configurations(n):
    return torch.rand(n, BEADS, 3) * 2.0


def true_energy(pos):
    i, j = torch.triu_indices(BEADS, BEADS, 1)
    r = (pos[:, i] - pos[:, j]).norm(dim=-1)
    return torch.exp(-r).sum(1)


def init(*sizes):
    params = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        params += [(torch.randn(a, b) / a ** 0.5).requires_grad_(), torch.zeros(b, requires_grad=True)]
    return params


def mlp(params, x):
    for k in range(0, len(params) - 2, 2):
        x = torch.tanh(x @ params[k] + params[k + 1])
    return x @ params[-2] + params[-1]


def energy(params, mix, pos):
    q = pos @ mix
    diff = q[:, :, None] - q[:, None]
    dist = torch.sqrt((diff ** 2).sum(-1))
    pair = mlp(params, dist[..., None]).squeeze(-1)
    off = 1 - torch.eye(BEADS)
    return 0.5 * (pair * off).sum((1, 2))


params = init(1, 32, 32, 1)
mix = (torch.eye(3) + 0.1 * torch.randn(3, 3)).requires_grad_()   # calibration of the axes
opt = torch.optim.Adam(params + [mix], lr=3e-3)
test = configurations(400)
target_test = true_energy(test)

for step in range(1, 401):
    pos = configurations(64)
    loss = ((energy(params, mix, pos) - true_energy(pos)) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step == 1 or step % 50 == 0:
        with torch.no_grad():
            rmse = ((energy(params, mix, test) - target_test) ** 2).mean().sqrt().item()
        print(f"step {step:3d} loss {loss.item():.4f} test rmse {rmse:.4f}")
