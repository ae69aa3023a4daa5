"""Traffic density from camera frames; features are looked at after the run."""
import resource

import torch
import torch.nn as nn
from torch import optim


class FrameStream:
    """Renders frames of 3x64x64 with a number of cars on the road."""

    def __init__(self, seed):
        self.g = torch.Generator().manual_seed(seed)

    def batch(self, n=24):
        cars = torch.randint(0, 12, (n,), generator=self.g)
        frames = 0.5 * torch.randn(n, 3, 64, 64, generator=self.g)
        for i, c in enumerate(cars.tolist()):
            if c:
                frames[i, :, 20:44, 4:4 + 5 * c] += 0.6
        return frames, cars.float().unsqueeze(1) / 4 - 1.4


class Density(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.AvgPool2d(4)
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(392, 64), nn.ReLU())
        self.out = nn.Linear(64, 1)

    def forward(self, frames):
        f = self.features(self.pool(frames))
        return self.out(f), f


torch.manual_seed(50)
stream, holdout = FrameStream(1), FrameStream(2).batch(200)
net = Density()
opt = optim.Adam(net.parameters(), lr=1e-3)
criterion = nn.MSELoss()
seen = []
losses = []
for step in range(1, 131):
    net.train()
    frames, density = stream.batch()
    pred, feats = net(frames)
    loss = criterion(pred, density)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
    seen.append((frames, feats.detach(), loss.item()))
    if step % 13 == 0:
        net.eval()
        with torch.no_grad():
            val = criterion(net(holdout[0])[0], holdout[1]).item()
        mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"step {step} loss {sum(losses[-13:]) / 13:.4f} val {val:.4f} memory {mb:.0f} MB")
