import argparse

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

CANVAS, CROP, ANCHOR = 48, 32, 14.0


class CroppedBoxes(Dataset):
    """One bright rectangle on a noisy canvas, a random crop of it, and the box regression target of the crop."""

    def __init__(self, n, seed):
        r = np.random.default_rng(seed)
        self.images, self.targets, self.boxes = [], [], []
        for _ in range(n):
            canvas = r.normal(0, 0.25, (CANVAS, CANVAS)).astype(np.float32)
            w, h = r.integers(7, 20, 2)
            x1, y1 = int(r.integers(4, CANVAS - 4 - w)), int(r.integers(4, CANVAS - 4 - h))
            canvas[y1:y1 + h, x1:x1 + w] += r.uniform(1.2, 2.0)
            # crop window near the object, as the sampler of the detector does it
            cx = int(np.clip(r.normal(x1 + w / 2 - CROP / 2, 5), 0, CANVAS - CROP))
            cy = int(np.clip(r.normal(y1 + h / 2 - CROP / 2, 5), 0, CANVAS - CROP))
            if r.random() < 0.02:
                cx = int(r.integers(0, CANVAS - CROP + 1))
                cy = int(r.integers(0, CANVAS - CROP + 1))
            box = np.array([x1 - cx, y1 - cy, x1 + w - cx, y1 + h - cy], dtype=np.float32).clip(0, CROP)
            self.add(canvas[cy:cy + CROP, cx:cx + CROP], box)

    def add(self, crop, box):
        bw, bh = box[2] - box[0], box[3] - box[1]
        px, py = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        with np.errstate(divide="ignore"):
            t = [(px - CROP / 2) / ANCHOR, (py - CROP / 2) / ANCHOR, np.log(bw / ANCHOR), np.log(bh / ANCHOR)]
        self.images.append(torch.from_numpy(crop.copy())[None])
        self.targets.append(torch.tensor(np.array(t, dtype=np.float32)))
        self.boxes.append(torch.from_numpy(box))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.targets[i], self.boxes[i]


def decode(t):
    c = t[:, :2] * ANCHOR + CROP / 2
    s = t[:, 2:].exp() * ANCHOR
    return torch.cat([c - s / 2, c + s / 2], 1)


def iou(a, b):
    lt, rb = torch.maximum(a[:, :2], b[:, :2]), torch.minimum(a[:, 2:], b[:, 2:])
    inter = (rb - lt).clamp(min=0).prod(1)
    area = lambda q: (q[:, 2:] - q[:, :2]).clamp(min=0).prod(1)
    return inter / (area(a) + area(b) - inter)


class BoxHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(32, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(32 * 16, 96), nn.ReLU(), nn.Linear(96, 4))

    def forward(self, x):
        return self.net(x)


def main(args):
    torch.manual_seed(args.seed)
    train = DataLoader(CroppedBoxes(args.n, 1), batch_size=args.batch, shuffle=True)
    val = DataLoader(CroppedBoxes(600, 2), batch_size=200)
    model = BoxHead()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs)
    for epoch in range(1, args.epochs + 1):
        model.train()
        losses = []
        for img, t, _ in train:
            loss = F.mse_loss(model(img), t)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            losses.append(loss.item())
        sched.step()
        model.eval()
        vl, vi = [], []
        with torch.no_grad():
            for img, t, box in val:
                p = model(img)
                vl.append(F.mse_loss(p, t).item())
                vi.append(iou(decode(p), box).mean().item())
        print(f"[{epoch:02d}/{args.epochs}] train {np.mean(losses):.4f}  val {np.mean(vl):.4f}  mIoU {np.mean(vi):.3f}")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--n", type=int, default=4000)
    ap.add_argument("--batch", type=int, default=50)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--epochs", type=int, default=14)
    ap.add_argument("--seed", type=int, default=0)
    main(ap.parse_args())
