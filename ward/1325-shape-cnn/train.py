import numpy as np
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import MultiStepLR
from torch.utils.data import DataLoader, TensorDataset

CONFIG = dict(
    seed=21,
    epochs=12,
    batch_size=32,
    optimizer=dict(lr=0.02, momentum=0.9, weight_decay=5e-4),
    schedule=dict(milestones=[1, 2, 3], gamma=0.1),
)
SHAPES = ["disc", "ring", "square", "frame", "cross", "triangle"]


def render(kind, rng, n=20):
    y, x = np.mgrid[:n, :n].astype("float32")
    cy, cx = rng.uniform(7, n - 7, 2)
    r, a = rng.uniform(3.5, 6), rng.uniform(-0.5, 0.5)
    u = (x - cx) * np.cos(a) + (y - cy) * np.sin(a)
    v = -(x - cx) * np.sin(a) + (y - cy) * np.cos(a)
    rho, box = np.hypot(u, v), np.maximum(abs(u), abs(v))
    m = {
        "disc": rho < r, "ring": (rho < r) & (rho > r - 1.8),
        "square": box < 0.85 * r, "frame": (box < 0.9 * r) & (box > 0.9 * r - 1.8),
        "cross": ((abs(u) < 1.1) | (abs(v) < 1.1)) & (box < r),
        "triangle": (v > -0.6 * r) & (1.7 * abs(u) + v < r),
    }[kind]
    img = m * rng.uniform(0.6, 1.1) + rng.normal(0, 0.15, (n, n)) + 0.2 * np.sin(x / rng.uniform(3, 8))
    return (img - 0.2) / 0.45


def dataset(n, rng):
    labels = rng.integers(0, len(SHAPES), n)
    imgs = np.stack([render(SHAPES[k], rng) for k in labels]).astype("float32")
    return TensorDataset(torch.from_numpy(imgs)[:, None], torch.from_numpy(labels))


def conv_norm(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.ReLU())


def build():
    return nn.Sequential(
        conv_norm(1, 12), nn.MaxPool2d(2), conv_norm(12, 24), nn.MaxPool2d(2), conv_norm(24, 32),
        nn.AdaptiveMaxPool2d(2), nn.Flatten(), nn.Linear(128, len(SHAPES)))


def evaluate(net, loader):
    net.eval()
    loss = hits = n = 0
    with torch.no_grad():
        for x, y in loader:
            out = net(x)
            loss += nn.functional.cross_entropy(out, y, reduction="sum").item()
            hits += (out.argmax(1) == y).sum().item()
            n += len(y)
    return loss / n, hits / n


def main(cfg):
    rng = np.random.default_rng(cfg["seed"])
    torch.manual_seed(cfg["seed"])
    train = DataLoader(dataset(2000, rng), cfg["batch_size"], shuffle=True)
    test = DataLoader(dataset(600, rng), 200)
    net = build()
    opt = torch.optim.SGD(net.parameters(), **cfg["optimizer"])
    sched = MultiStepLR(opt, **cfg["schedule"])
    for epoch in range(cfg["epochs"]):
        net.train()
        total = 0.0
        for x, y in train:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
            total += loss.item()
        sched.step()
        tl, ta = evaluate(net, test)
        print("epoch %2d  train %.4f  test %.4f  acc %.3f" % (epoch + 1, total / len(train), tl, ta))


if __name__ == "__main__":
    main(CONFIG)
