"""Adapt a digit classifier to a new camera (slanted, paler, noisier pictures) with low-rank adapters; the base stays as it is."""
import numpy as np
import torch
from torch import nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(60)


class LowRank(nn.Module):
    """y = base(x) + scale * up(down(x)); up starts at zero so that the adapted net starts equal to the base."""

    def __init__(self, base, r=8, alpha=16):
        super().__init__()
        self.base = base
        self.down = nn.Linear(base.in_features, r, bias=False)
        self.up = nn.Linear(r, base.out_features, bias=False)
        nn.init.zeros_(self.up.weight)
        self.scale = alpha / r

    def forward(self, x):
        return self.base(x) + self.scale * self.up(self.down(x))


class Net(nn.Module):
    def __init__(self, h=128):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(64, h), nn.Linear(h, h), nn.Linear(h, 10)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        x = self.drop(torch.relu(self.fc1(x)))
        x = self.drop(torch.relu(self.fc2(x)))
        return self.fc3(x)


def new_camera(images, rng):
    """rows slide to the right as they go down, less contrast, a little sensor noise"""
    out = np.stack([np.stack([np.roll(row, i // 3) for i, row in enumerate(img)]) for img in images])
    return 0.7 * out + 3 + rng.normal(0, 0.8, out.shape)


def fit(net, x, y, xv, yv, epochs, lr, tag):
    params = [p for p in net.parameters() if p.requires_grad]
    print(f"{tag}: {sum(p.numel() for p in params)} of {sum(p.numel() for p in net.parameters())} parameters are trained")
    opt = torch.optim.AdamW(params, lr=lr, weight_decay=1e-2)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    for epoch in range(epochs):
        net.train()
        total = 0.0
        for idx in torch.randperm(len(y)).split(32):
            loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        sched.step()
        if (epoch + 1) % 3 == 0:
            net.eval()
            with torch.no_grad():
                out = net(xv)
            print(f"{tag} epoch {epoch + 1:2d}: loss {total / len(y):.4f}  val loss {nn.functional.cross_entropy(out, yv).item():.4f}"
                  f"  val acc {(out.argmax(1) == yv).float().mean().item():.3f}")


digits = load_digits()
rng = np.random.default_rng(61)
old_i, new_i = train_test_split(np.arange(len(digits.target)), test_size=0.55, stratify=digits.target, random_state=0)


def tensors(images, labels):
    x = torch.tensor(images.reshape(len(images), -1), dtype=torch.float32)
    x = (x - x.mean()) / x.std()
    xt, xv, yt, yv = train_test_split(x, torch.tensor(labels), test_size=0.25, stratify=labels, random_state=1)
    return xt, yt, xv, yv


net = Net()
fit(net, *tensors(digits.images[old_i], digits.target[old_i]), epochs=12, lr=2e-3, tag="base")

net.requires_grad_(False)
for name in ("fc1", "fc2", "fc3"):
    setattr(net, name, LowRank(getattr(net, name)))
fit(net, *tensors(new_camera(digits.images[new_i], rng), digits.target[new_i]), epochs=15, lr=3e-3, tag="adapt")
