import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(50)
MM2_TO_CM2 = 0.01


def profiles(n, points=96):
    """Laser height profiles of a weld seam: a smooth bead, measured with noise."""
    s = torch.linspace(-1, 1, points)
    width, top, shift = 0.2 + 0.4 * torch.rand(n, 1), 0.5 + torch.rand(n, 1), 0.6 * torch.rand(n, 1) - 0.3
    clean = top * torch.exp(-((s - shift) / width) ** 2) - 0.2 * torch.cos(3 * s + shift)
    return clean + 0.3 * torch.randn(n, points), clean


noisy, clean = profiles(1200)
val_noisy, val_clean = profiles(300)
importance = 1.0 / (0.3 + clean.amax(1))              # flat beads are rarer in practice
importance = importance / importance.sum()

net = nn.Sequential(nn.Linear(96, 48), nn.ReLU(), nn.Linear(48, 12), nn.ReLU(), nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 96))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
scaler = torch.amp.GradScaler("cpu")
loader = DataLoader(TensorDataset(noisy, clean, importance), batch_size=50, shuffle=True)

for epoch in range(1, 11):
    net.train()
    total = 0.0
    for x, target, weight in loader:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            out = net(x)
        loss = (weight * (out.float() - target).pow(2).mean(1)).mean() * MM2_TO_CM2
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        total += loss.item()
    net.eval()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.float16):
        rmse = (net(val_noisy).float() - val_clean).pow(2).mean().sqrt().item()
    print(f"epoch {epoch:2d}  weighted loss {total / len(loader):.3e}  val rmse {rmse:.4f}")
