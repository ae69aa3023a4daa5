"""Texture patches in bfloat16 autocast; loss in float32."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def patches(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    t = torch.arange(10.0)
    f = torch.tensor([0.6, 1.2, 0.6, 1.2])[y][:, None, None]
    ang = torch.tensor([0.0, 0.0, 1.2, 1.2])[y][:, None, None]
    phase = torch.rand(n, 1, 1, generator=g) * 6.28
    wave = torch.sin(f * (torch.cos(ang) * t[None, :, None] + torch.sin(ang) * t[None, None]) + phase)
    return (wave + 0.4 * torch.randn(n, 10, 10, generator=g)).unsqueeze(1), y


torch.manual_seed(29)
net = nn.Sequential(nn.Conv2d(1, 12, 5, padding=2), nn.GELU(), nn.Conv2d(12, 12, 3, stride=2, padding=1), nn.GELU(), nn.Flatten(), nn.Linear(300, 4))
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
loader = DataLoader(TensorDataset(*patches(1200, 1)), batch_size=30, shuffle=True)
xt, yt = patches(300, 2)
for epoch in range(4):
    net.train()
    tot = 0.0
    for x, y in loader:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = net(x)
        loss = nn.functional.cross_entropy(logits.float(), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() / len(loader)
    net.eval()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        out = net(xt).float()
    print(f"epoch {epoch} loss {tot:.4f} test {nn.functional.cross_entropy(out, yt).item():.4f} accuracy {(out.argmax(1) == yt).float().mean().item():.3f}")
