import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(30)


def tracks(n, points=10):
    """Cells that drift (0), circle (1) or stay put (2), as a list of positions."""
    kind = torch.randint(0, 3, (n,))
    t = torch.arange(points).float()
    angle = torch.rand(n, 1) * 6.28
    drift = torch.stack([torch.cos(angle) * t, torch.sin(angle) * t], -1) * 0.3
    circle = torch.stack([torch.cos(angle + 0.7 * t), torch.sin(angle + 0.7 * t)], -1)
    still = torch.zeros(n, points, 2)
    path = torch.stack([drift, circle, still], 1)[torch.arange(n), kind]
    moving = (kind != 2).float()[:, None, None]
    return path + 0.12 * torch.randn(n, points, 2) * moving, kind


def directions(path):
    """unit vectors of the single moves, and their lengths"""
    move = path[:, 1:] - path[:, :-1]
    length = move.pow(2).sum(-1, keepdim=True).sqrt()
    return move / length, length


class TrackNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.point = nn.Linear(2, 2, bias=False)          # learned frame for the positions
        nn.init.eye_(self.point.weight)
        self.conv = nn.Conv1d(3, width, 3)
        self.fc = nn.Linear(width, 3)

    def forward(self, path):
        unit, length = directions(self.point(path))
        feats = torch.cat([unit, length], dim=-1)
        feats = torch.where(torch.isfinite(feats), feats, torch.zeros_like(feats))
        h = F.relu(self.conv(feats.transpose(1, 2)))
        return self.fc(h.mean(-1))


net = TrackNet()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
val_path, val_kind = tracks(400)
for step in range(1, 201):
    path, kind = tracks(40)
    loss = F.cross_entropy(net(path), kind)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        with torch.no_grad():
            out = net(val_path)
            acc = (out.argmax(1) == val_kind).float().mean().item()
        print(f"step {step:3d} loss {loss.item():.4f} val {F.cross_entropy(out, val_kind).item():.4f} acc {acc:.3f}")
