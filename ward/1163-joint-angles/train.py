"""Angle between two bones from noisy marker positions (motion capture)."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def unit(v):
    return v / v.norm(dim=-1, keepdim=True)


class MarkerFrames(Dataset):
    """Inputs: 3 markers x 3 coordinates, jittered. Target: true angle at the middle joint, in radians."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        upper = unit(torch.randn(n, 3, generator=g))
        bend = torch.randn(n, 3, generator=g) * torch.rand(n, 1, generator=g) * 1.5
        bend[torch.rand(n, generator=g) < 0.02] = 0.0                 # stretched limbs
        lower = unit(upper + bend)
        cosine = (upper * lower).sum(-1)
        self.angle = torch.acos(cosine)
        joint = 0.3 * torch.randn(n, 3, generator=g)
        markers = torch.cat([joint - upper, joint, joint + lower], dim=1)
        self.markers = markers + 0.02 * torch.randn(n, 9, generator=g)

    def __len__(self):
        return len(self.angle)

    def __getitem__(self, i):
        return self.markers[i], self.angle[i]


class AngleNet(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(9, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, markers):
        return self.net(markers / 0.65).squeeze(-1)


def run_epoch(model, loader, optimizer=None):
    model.train(optimizer is not None)
    total, count = 0.0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for markers, angle in loader:
            loss = nn.functional.smooth_l1_loss(model(markers), angle, beta=0.2)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(angle)
            count += len(angle)
    return total / count


if __name__ == "__main__":
    torch.manual_seed(5)
    train_loader = DataLoader(MarkerFrames(2000, seed=1), batch_size=50, shuffle=True)
    val_loader = DataLoader(MarkerFrames(500, seed=2), batch_size=250)
    model = AngleNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for epoch in range(1, 7):
        train_loss = run_epoch(model, train_loader, optimizer)
        val_loss = run_epoch(model, val_loader)
        print(f"epoch {epoch}  train {train_loss:.4f}  val {val_loss:.4f}")
