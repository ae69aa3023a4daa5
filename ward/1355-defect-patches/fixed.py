"""Surface defects on metal patches (16x16), small CNN; the real patches are large, so the batch is what fits on the card."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

KINDS = ["clean", "scratch", "pit", "stain"]


def patches(n, seed):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[:16, :16].astype("float32")
    X, Y = np.empty((n, 1, 16, 16), "float32"), rng.integers(0, 4, n)
    for i, k in enumerate(Y):
        img = rng.normal(0, 0.5, (16, 16)) + rng.normal(0, 0.6)            # exposure differs from patch to patch
        cx, cy = rng.uniform(4, 12, 2)
        if k == 1:
            a = rng.uniform(0, np.pi)
            img += 1.4 * (np.abs((xx - cx) * np.sin(a) - (yy - cy) * np.cos(a)) < 0.8)
        elif k == 2:
            img -= 1.6 * ((xx - cx) ** 2 + (yy - cy) ** 2 < 5)
        elif k == 3:
            img += 1.0 * np.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / 18)
        X[i, 0] = img
    return TensorDataset(torch.from_numpy(X), torch.from_numpy(Y))


def block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.GroupNorm(4, cout), nn.ReLU(), nn.MaxPool2d(2))


class PatchNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(block(1, 12), block(12, 24), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.embed = nn.Sequential(nn.Linear(24, 32), nn.GroupNorm(4, 32), nn.ReLU())
        self.fc = nn.Linear(32, 4)

    def forward(self, x):
        return self.fc(self.embed(self.features(x)))


def main():
    torch.manual_seed(80)
    train = DataLoader(patches(700, 1), batch_size=2, shuffle=True)
    val = DataLoader(patches(400, 2), batch_size=200)
    net = PatchNet()
    opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 8)
    ce = nn.CrossEntropyLoss()
    for epoch in range(8):
        net.train()
        tl = hit = 0
        for x, y in train:
            out = net(x)
            loss = ce(out, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tl += loss.item() * len(y)
            hit += (out.argmax(1) == y).sum().item()
        sched.step()
        net.eval()
        vl = vh = 0
        with torch.no_grad():
            for x, y in val:
                out = net(x)
                vl += ce(out, y).item() * len(y)
                vh += (out.argmax(1) == y).sum().item()
        print(f"epoch {epoch + 1} train loss {tl / 700:.3f} acc {hit / 700:.3f}  val loss {vl / 400:.3f} acc {vh / 400:.3f}")


main()
