import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(42)


def strokes(n, g):
    """random thick strokes and discs on 8x8"""
    yy, xx = torch.meshgrid(torch.arange(8.), torch.arange(8.), indexing="ij")
    img = torch.zeros(n, 8, 8)
    for _ in range(2):
        c = torch.rand(n, 2, 1, 1, generator=g) * 7
        a = torch.rand(n, 1, 1, generator=g) * math.pi
        w = 0.8 + 0.5 * torch.rand(n, 1, 1, generator=g)
        dist = ((yy - c[:, 0]) * torch.cos(a) - (xx - c[:, 1]) * torch.sin(a)).abs()
        img = torch.maximum(img, torch.sigmoid(6 * (w - dist)))
    return img.unsqueeze(1)


class StrokesSR(Dataset):
    """low resolution 4x4 -> high resolution 8x8"""

    def __init__(self, train=True):
        g = torch.Generator().manual_seed(0 if train else 1)
        self.hr = strokes(960 if train else 300, g)
        self.lr = F.avg_pool2d(self.hr, 2)

    def __len__(self):
        return len(self.hr)

    def __getitem__(self, i):
        return self.lr[i], self.hr[i]


class ResidualBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv1 = nn.Conv2d(ch, ch, 3, padding=1)
        self.prelu = nn.PReLU()
        self.conv2 = nn.Conv2d(ch, ch, 3, padding=1)

    def forward(self, x):
        return x + self.conv2(self.prelu(self.conv1(x)))


class Generator(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.head = nn.Sequential(nn.Conv2d(1, ch, 3, padding=1), nn.PReLU())
        self.body = nn.Sequential(ResidualBlock(ch))
        self.up = nn.Sequential(nn.Conv2d(ch, 4, 3, padding=1), nn.PixelShuffle(2))

    def forward(self, x):
        f = self.head(x)
        return self.up(f + self.body(f))


def psnr(mse):
    return 10 * math.log10(1.0 / mse)


epochs = 7
train_loader = DataLoader(StrokesSR(True), batch_size=32, shuffle=True)
val_set = StrokesSR(False)
netG = Generator()
optimizerG = torch.optim.Adam(netG.parameters(), lr=5e-3)
schedulerG = StepLR(optimizerG, step_size=epochs // 2, gamma=0.3)
content_criterion = nn.MSELoss()

for epoch in range(epochs):
    netG.train()
    avg = 0.
    for i, (lr, hr) in enumerate(train_loader):
        netG.zero_grad()
        sr = netG(lr)
        loss = content_criterion(sr, hr)
        loss.backward()
        optimizerG.step()
        avg += loss.item() / len(train_loader)
    schedulerG.step()

    netG.eval()
    with torch.no_grad():
        mse = content_criterion(netG(val_set.lr), val_set.hr).item()
        base = content_criterion(F.interpolate(val_set.lr, scale_factor=2, mode="bicubic"), val_set.hr).item()
    print("[%d/%d] loss %.5f  val psnr %.2f dB (bicubic %.2f)" % (epoch + 1, epochs, avg, psnr(mse), psnr(base)))
