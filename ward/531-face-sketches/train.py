import torch
from torch import nn


def sketches(n, gen):
    """12x12 drawings of faces: position, size, eye distance, smile."""
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, 12), torch.linspace(-1, 1, 12), indexing="ij")
    cx, cy, size, eyes, smile = ((torch.rand(5, n, generator=gen) * 2 - 1)[..., None, None]).unbind(0)
    size = 0.65 + 0.15 * size
    cx, cy = 0.2 * cx, 0.2 * cy
    dx, dy = xx - cx, yy - cy
    r = (dx ** 2 + dy ** 2).sqrt()
    img = torch.exp(-((r - size) / 0.15) ** 2)
    gap = 0.25 + 0.1 * eyes
    for s in (-1, 1):
        img = img + torch.exp(-((dx - s * gap) ** 2 + (dy + 0.2) ** 2) / 0.02)
    img = img + torch.exp(-((dy - 0.3 - 0.6 * smile * (dx ** 2 - 0.05)) / 0.12) ** 2) * (dx.abs() < 0.3)
    img = (img - img.mean()) / img.std()
    return img.flatten(1)


class AutoEncoder(nn.Module):
    def __init__(self, code_size):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(144, 96), nn.ReLU(), nn.Linear(96, code_size))
        self.decode = nn.Sequential(nn.Linear(code_size, 96), nn.ReLU(), nn.Linear(96, 144))

    def forward(self, x):
        return self.decode(self.encode(x))


gen = torch.Generator().manual_seed(8)
torch.manual_seed(8)
train, val = sketches(2000, gen), sketches(400, gen)
ae = AutoEncoder(code_size=1)
opt = torch.optim.Adam(ae.parameters(), lr=3e-3)
for epoch in range(10):
    ae.train()
    losses = []
    for idx in torch.randperm(2000).split(50):
        x = train[idx]
        loss = nn.functional.mse_loss(ae(x), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    ae.eval()
    with torch.no_grad():
        v = nn.functional.mse_loss(ae(val), val).item()
    print(f"epoch {epoch + 1}: reconstruction {sum(losses) / len(losses):.4f} (val {v:.4f})")
