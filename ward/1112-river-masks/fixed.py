import argparse
import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F

p = argparse.ArgumentParser(description="Water masks on 12x12 tiles, micro-batches because of memory")
p.add_argument("--updates", type=int, default=100)
p.add_argument("--micro-batch", type=int, default=4)
p.add_argument("--accum", type=int, default=8)
p.add_argument("--lr", type=float, default=0.15)
p.add_argument("--momentum", type=float, default=0.9)
p.add_argument("--seed", type=int, default=5)
opt = p.parse_args()


def tiles(batch, generator, size=12):
    """Endless stream of (image, mask): a meandering river on noisy ground."""
    rows = torch.arange(size).float()
    while True:
        centre = size / 2 + 4 * torch.sin(rows[None] * (0.2 + 0.5 * torch.rand(batch, 1, generator=generator))
                                          + 6.28 * torch.rand(batch, 1, generator=generator))
        width = 1.5 + 1.5 * torch.rand(batch, 1, 1, generator=generator)
        mask = ((rows[None, None] - centre[:, :, None]).abs() < width).float()
        noise = torch.randn(batch, 2, size, size, generator=generator)
        img = torch.stack([1.2 * mask, -0.8 * mask], 1) + 0.9 * noise - torch.tensor([0.3, -0.2]).view(1, 2, 1, 1)
        yield img, mask.unsqueeze(1)


class SmallUNet(nn.Module):
    def __init__(self, c=6):
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(2, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, c, 3, padding=1), nn.ReLU())
        self.down2 = nn.Sequential(nn.Conv2d(c, 2 * c, 3, padding=1), nn.ReLU(), nn.Conv2d(2 * c, c, 3, padding=1), nn.ReLU())
        self.up = nn.Sequential(nn.Conv2d(2 * c, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, 1, 1))

    def forward(self, x):
        a = self.down1(x)
        b = F.interpolate(self.down2(F.max_pool2d(a, 2)), scale_factor=2)
        return self.up(torch.cat([a, b], 1))


def iou(logits, mask):
    pred = logits > 0
    inter = (pred & (mask > 0)).sum().item()
    return inter / max(1, (pred | (mask > 0)).sum().item())


torch.manual_seed(opt.seed)
gen = torch.Generator().manual_seed(opt.seed)
stream = tiles(opt.micro_batch, gen)
val_x, val_y = next(tiles(128, torch.Generator().manual_seed(99)))
model = SmallUNet()
optimizer = torch.optim.SGD(model.parameters(), lr=opt.lr, momentum=opt.momentum)
criterion = nn.BCEWithLogitsLoss()

for update in range(1, opt.updates + 1):
    model.train()
    optimizer.zero_grad()
    shown = 0.0
    for x, y in itertools.islice(stream, opt.accum):
        loss = criterion(model(x), y)
        shown += loss.item() / opt.accum
        (loss / opt.accum).backward()
    optimizer.step()
    if update % 10 == 0:
        model.eval()
        with torch.no_grad():
            out = model(val_x)
        print(f"update {update:3d}  loss {shown:.4f}  val loss {criterion(out, val_y).item():.4f}  IoU {iou(out, val_y):.3f}")
