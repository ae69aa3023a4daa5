import torch
from torch import nn

torch.manual_seed(303)


class Tower(nn.Module):
    """a narrow tower"""

    def __init__(self, n_in, n_out, width=24, depth=2):
        super().__init__()
        dims = [n_in] + [width] * depth
        self.hidden = nn.ModuleList([nn.Linear(a, b) for a, b in zip(dims[:-1], dims[1:])])
        self.final = nn.Linear(width, n_out)

    def forward(self, x):
        for lin in self.hidden:
            x = torch.relu(lin(x))
        return self.final(x)


# altitude, slope, aspect, albedo, ... -> accumulation / firn / ablation / debris zone
N = 2000
z = torch.randn(N, 8)
zone = (z[:, 0] + 0.5 * z[:, 1] > 0).long() + 2 * (z[:, 2] - 0.5 * z[:, 3] > 0).long()
z = z + 0.05 * torch.randn_like(z)
tr, va = slice(0, 1600), slice(1600, N)

net = Tower(8, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(14):
    perm = torch.randperm(1600)
    ep = 0.0
    for i in range(0, 1600, 64):
        j = perm[i:i + 64]
        opt.zero_grad()
        loss = loss_fn(net(z[tr][j]), zone[tr][j])
        loss.backward()
        opt.step()
        ep += loss.item() / 25
    with torch.no_grad():
        out = net(z[va])
        vl = loss_fn(out, zone[va])
    print(f"epoch {epoch + 1:2d} train {ep:.4f} val {vl.item():.4f} acc {(out.argmax(1) == zone[va]).float().mean().item():.3f}")
