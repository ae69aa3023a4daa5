"""Find the one object on a 20x20 picture: its class (3 kinds) and its box (cx, cy, w, h)."""
import torch
from torch import nn
from torch.nn import functional as F

MICRO, ACCUM = 8, 8          # 8 pictures fit, we want batches of 64
SIZE = 20


def scene(g):
    kind = int(torch.randint(0, 3, (1,), generator=g))
    w, h = (5 + torch.randint(0, 6, (2,), generator=g)).tolist()
    x0 = int(torch.randint(0, SIZE - w + 1, (1,), generator=g))
    y0 = int(torch.randint(0, SIZE - h + 1, (1,), generator=g))
    img = 0.25 * torch.randn(SIZE, SIZE, generator=g)
    patch = torch.zeros(h, w)
    if kind == 0:
        patch[:] = 1                                  # filled
    elif kind == 1:
        patch[0], patch[-1], patch[:, 0], patch[:, -1] = 1, 1, 1, 1   # frame
    else:
        patch[::2] = 1                                # stripes
    img[y0:y0 + h, x0:x0 + w] += patch
    box = torch.tensor([x0 + w / 2, y0 + h / 2, w, h]) / SIZE
    return img[None], kind, box


def stack(scenes):
    imgs, kinds, boxes = zip(*scenes)
    return torch.stack(imgs), torch.tensor(kinds), torch.stack(boxes)


class Finder(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.GroupNorm(3, 12), nn.ReLU(), nn.MaxPool2d(2),
                                   nn.Conv2d(12, 24, 3, padding=1), nn.GroupNorm(4, 24), nn.ReLU(), nn.MaxPool2d(2),
                                   nn.Flatten(), nn.Linear(600, 64), nn.ReLU())
        self.kind = nn.Linear(64, 3)
        self.box = nn.Linear(64, 4)

    def forward(self, x):
        h = self.trunk(x)
        return self.kind(h), self.box(h)


def iou(a, b):
    lo = torch.maximum(a[:, :2] - a[:, 2:] / 2, b[:, :2] - b[:, 2:] / 2)
    hi = torch.minimum(a[:, :2] + a[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2)
    inter = (hi - lo).clamp(min=0).prod(1)
    return inter / (a[:, 2:].clamp(min=0).prod(1) + b[:, 2:].prod(1) - inter)


def objective(out, kinds, boxes):
    return F.cross_entropy(out[0], kinds) + 4 * F.l1_loss(out[1], boxes)


gen = torch.Generator().manual_seed(15)
torch.manual_seed(15)
x, k, b = stack([scene(gen) for _ in range(1600)])
vx, vk, vb = stack([scene(gen) for _ in range(400)])
model = Finder()
opt = torch.optim.SGD(model.parameters(), lr=0.006, momentum=0.9, weight_decay=1e-4)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 16)

for epoch in range(16):
    model.train()
    logged = []
    opt.zero_grad()
    for i, idx in enumerate(torch.randperm(len(x)).split(MICRO), start=1):
        loss = objective(model(x[idx]), k[idx], b[idx])
        (loss / ACCUM).backward()
        logged.append(loss.item())
        if i % ACCUM == 0:
            opt.step()
            opt.zero_grad()
    sched.step()
    model.eval()
    with torch.no_grad():
        out = model(vx)
        vl = objective(out, vk, vb).item()
    if epoch % 2 == 1:
        print(f"epoch {epoch + 1:2d} | loss {sum(logged) / len(logged):.3f} | val {vl:.3f} | "
              f"class acc {(out[0].argmax(1) == vk).float().mean():.3f} | mean IoU {iou(out[1], vb).mean():.3f}")
