"""Monocular depth on toy street scenes. Ground truth comes from a stereo rig (disparity maps)."""
import math
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

FOCAL_TIMES_BASELINE = 40.0
SIZE = 16


def render(n, seed):
    """Grey images whose brightness and texture fade with distance, plus the rig's disparity (pixels, whole numbers)."""
    g = torch.Generator().manual_seed(seed)
    rows = torch.linspace(1, 0, SIZE).view(1, SIZE, 1)
    slope = 8 + 20 * torch.rand(n, 1, 1, generator=g)
    depth = (4 + slope * rows).expand(n, SIZE, SIZE).clone()
    for i in range(n):
        r, c = torch.randint(2, SIZE - 6, (2,), generator=g).tolist()
        depth[i, r:r + 5, c:c + 5] = 3 + 9 * torch.rand(1, generator=g).item()
        if i % 12 == 5:
            depth[i, 0, :4] = 150.0          # a strip of open sky between the houses
    shade = torch.exp(-depth / 15)
    image = shade + 0.04 * torch.randn(n, SIZE, SIZE, generator=g)
    disparity = torch.floor(FOCAL_TIMES_BASELINE / depth)
    return image.unsqueeze(1), disparity.unsqueeze(1)


class StereoScenes(Dataset):
    def __init__(self, n, seed):
        self.images, self.disparity = render(n, seed)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = (self.images[i] - 0.35) / 0.2
        depth = FOCAL_TIMES_BASELINE / self.disparity[i].clamp(min=1)
        return image, torch.log(depth)


class DepthNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.ReLU())
        self.middle = nn.Sequential(nn.Conv2d(2 * width, 2 * width, 3, padding=1), nn.ReLU())
        self.decoder = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(2 * width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 1, 3, padding=1))

    def forward(self, x):
        return math.log(10.0) + self.decoder(self.middle(self.encoder(x)))


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(StereoScenes(480, 1), batch_size=16, shuffle=True)
    val_loader = DataLoader(StereoScenes(96, 2), batch_size=48)
    net = DepthNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    criterion = nn.MSELoss()
    step = 0
    for epoch in range(5):
        net.train()
        for image, log_depth in train_loader:
            optimizer.zero_grad()
            loss = criterion(net(image), log_depth)
            loss.backward()
            optimizer.step()
            step += 1
            if step % 15 == 0:
                print(f"step {step:4d} | log-rmse {math.sqrt(loss.item()):.4f}")
        net.eval()
        with torch.no_grad():
            val = sum(criterion(net(a), b).item() for a, b in val_loader) / len(val_loader)
        print(f"== epoch {epoch + 1}: validation log-rmse {math.sqrt(val):.4f}")


main()
