"""Segment round cells on noisy 24x24 micrographs with a two-level U-Net in mixed precision."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Micrographs(Dataset):
    def __init__(self, n, seed, size=24):
        g = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
        pics, masks = [], []
        for _ in range(n):
            mask = torch.zeros(size, size)
            img = torch.zeros(size, size)
            for _ in range(int(torch.randint(1, 4, (1,), generator=g))):
                cy, cx = torch.rand(2, generator=g) * size
                r = 2.5 + 2.5 * torch.rand(1, generator=g)
                d = ((yy - cy) ** 2 + (xx - cx) ** 2).sqrt()
                mask[d < r] = 1
                img += 0.9 * torch.exp(-((d - r) / 1.3) ** 2) + 0.5 * (d < r)     # bright membrane
            shade = 0.3 * torch.rand(1, generator=g) * xx / size
            pics.append(img + shade + 0.3 * torch.randn(size, size, generator=g))
            masks.append(mask)
        self.x = torch.stack(pics)[:, None]
        self.x = (self.x - 0.35) / 0.5
        self.y = torch.stack(masks)[:, None]

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"image": self.x[i], "mask": self.y[i]}


def double(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.ReLU(),
                         nn.Conv2d(o, o, 3, padding=1), nn.GroupNorm(4, o), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.a, self.b = double(1, c), double(c, 2 * c)
        self.up = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.c = double(2 * c, c)
        self.out = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = self.a(x)
        b = self.b(F.max_pool2d(a, 2))
        return self.out(self.c(torch.cat([a, self.up(b)], 1)))


def dice(logits, mask):
    p = (logits > 0).float()
    return (2 * (p * mask).sum() / (p.sum() + mask.sum() + 1e-6)).item()


def main():
    torch.manual_seed(9)
    train = DataLoader(Micrographs(400, 1), batch_size=16, shuffle=True, drop_last=True)
    val = DataLoader(Micrographs(120, 2), batch_size=60)
    net = UNet()
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    scaler = torch.amp.GradScaler("cpu")
    for epoch in range(8):
        net.train()
        run = 0.0
        for batch in train:
            opt.zero_grad(set_to_none=True)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                logits = net(batch["image"])
            loss = F.binary_cross_entropy_with_logits(logits.float(), batch["mask"])
            scaler.scale(loss).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 2.0)
            scaler.step(opt)
            scaler.update()
            run += loss.item() / len(train)
        net.eval()
        with torch.no_grad():
            score = [dice(net(b["image"]), b["mask"]) for b in val]
            vl = [F.binary_cross_entropy_with_logits(net(b["image"]), b["mask"]).item() for b in val]
        print(f"epoch {epoch + 1}  loss {run:.4f}  val loss {sum(vl) / len(vl):.4f}  dice {sum(score) / len(score):.4f}")


main()
