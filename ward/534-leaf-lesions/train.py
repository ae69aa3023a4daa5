import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Leaves(Dataset):
    """16x16 leaf photos with a round lesion in some of them; the lesion's mask is the target."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
        cx, cy = (torch.rand(2, n, 1, 1, generator=g) * 10 + 3).unbind(0)
        radius = 2 + 2.5 * torch.rand(n, 1, 1, generator=g)
        sick = (torch.rand(n, 1, 1, generator=g) < 0.6).float()
        self.mask = ((xx - cx) ** 2 + (yy - cy) ** 2 < radius ** 2).float() * sick
        veins = torch.sin(0.9 * xx + 6 * torch.rand(n, 1, 1, generator=g))
        self.img = 1.5 * self.mask + 0.5 * veins + 0.5 * torch.randn(n, 16, 16, generator=g)
        light = torch.exp(0.7 * torch.randn(n, 1, 1, generator=g))
        self.img = light * (self.img + 1.5 * torch.randn(n, 1, 1, generator=g))
        self.img = (self.img - self.img.mean()) / self.img.std()

    def __len__(self):
        return len(self.img)

    def __getitem__(self, i):
        return self.img[i][None], self.mask[i][None]


def block(c_in, c_out):
    return nn.Sequential(nn.Conv2d(c_in, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU())


class MiniUNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.enc1, self.enc2, self.enc3 = block(1, c), block(c, 2 * c), block(2 * c, 4 * c)
        self.dec2, self.dec1 = block(6 * c, 2 * c), block(3 * c, c)
        self.out = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = self.enc1(x)
        b = self.enc2(F.max_pool2d(a, 2))
        z = self.enc3(F.max_pool2d(b, 4))
        b = self.dec2(torch.cat([F.interpolate(z, scale_factor=4), b], dim=1))
        a = self.dec1(torch.cat([F.interpolate(b, scale_factor=2), a], dim=1))
        return self.out(a)


def dice(pred, mask):
    p = (pred > 0).float()
    return (2 * (p * mask).sum() / (p.sum() + mask.sum() + 1e-6)).item()


torch.manual_seed(44)
train = DataLoader(Leaves(300, 1), batch_size=1, shuffle=True)
val = DataLoader(Leaves(100, 2), batch_size=100)
net = MiniUNet()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
losses = []
step = 0
while step < 300:
    for img, mask in train:
        net.train()
        loss = F.binary_cross_entropy_with_logits(net(img), mask)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        step += 1
        if step % 50 == 0:
            net.eval()
            with torch.no_grad():
                vi, vm = next(iter(val))
                out = net(vi)
            print(f"step {step}: train {sum(losses[-50:]) / 50:.4f}  val {F.binary_cross_entropy_with_logits(out, vm):.4f}  dice {dice(out, vm):.3f}")
