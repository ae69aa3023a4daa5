# texture synthesis: change an image until its filter statistics (Gram matrices) match those of a sample
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(33)


def fabric(size=32):
    g = torch.arange(size).float()
    warp = torch.sin(g * 1.6).view(1, -1) * torch.ones(size, 1)
    weft = torch.sin(g * 0.8).view(-1, 1) * torch.ones(1, size)
    img = torch.stack([warp, weft, 0.5 * warp * weft])
    return img.unsqueeze(0) * 0.4


class Filters(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(3, 12, 3, padding=1)
        self.b = nn.Conv2d(12, 24, 3, padding=1)

    def forward(self, x):
        h1 = torch.relu(self.a(x))
        h2 = torch.relu(self.b(F.avg_pool2d(h1, 2)))
        return [h1, h2]


def gram(h):
    _, c, m, n = h.shape
    f = h.view(c, m * n)
    return f @ f.t() / (m * n)


vgg_like = Filters().eval()
for p in vgg_like.parameters():
    p.requires_grad_(False)

style = [gram(h).detach() for h in vgg_like(fabric())]
scale = [s.pow(2).mean() for s in style]
canvas = (0.1 * torch.randn(1, 3, 32, 32)).requires_grad_(True)
opt = torch.optim.Adam([canvas], lr=0.03)

for step in range(301):
    opt.zero_grad()
    loss_style = sum((gram(h) - s).pow(2).mean() / k for h, s, k in zip(vgg_like(canvas), style, scale))
    loss_tv = 1e-3 * ((canvas[..., 1:] - canvas[..., :-1]).abs().mean() + (canvas[..., 1:, :] - canvas[..., :-1, :]).abs().mean())
    loss = loss_style + loss_tv
    loss.backward()
    opt.step()
    if step % 25 == 0:
        print(f"step {step:3d} style {loss_style.item():.5f} smooth {loss_tv.item():.5f} total {loss.item():.5f}")
