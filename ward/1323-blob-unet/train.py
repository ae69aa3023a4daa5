# Segmentation of nuclei-like blobs, tiny U-Net
import random
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SEED = 11
random.seed(SEED)
torch.manual_seed(SEED)


def draw(size=32):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    mask = torch.zeros(size, size)
    for _ in range(random.randint(2, 5)):
        cy, cx = random.uniform(3, size - 3), random.uniform(3, size - 3)
        ry, rx = random.uniform(2.5, 6), random.uniform(2.5, 6)
        mask[((yy - cy) / ry) ** 2 + ((xx - cx) / rx) ** 2 < 1] = 1
    background = 0.25 * torch.sin(yy / random.uniform(4, 9) + random.random() * 6)
    image = background + 0.9 * mask * random.uniform(0.7, 1.2) + 0.35 * torch.randn(size, size)
    return image[None], mask[None]


class Nuclei(Dataset):
    def __init__(self, n):
        self.items = [draw() for _ in range(n)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        image, mask = self.items[i]
        return {"image": (image - 0.2) / 0.58, "mask": mask}


def block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, c=6):
        super().__init__()
        self.d1, self.d2, self.mid = block(1, c), block(c, 2 * c), block(2 * c, 4 * c)
        self.pool = nn.MaxPool2d(2)
        self.up2 = nn.ConvTranspose2d(4 * c, 2 * c, 2, stride=2)
        self.u2 = block(4 * c, 2 * c)
        self.up1 = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.u1 = block(2 * c, c)
        self.out = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(self.pool(a))
        m = self.mid(self.pool(b))
        b = self.u2(torch.cat([self.up2(m), b], 1))
        a = self.u1(torch.cat([self.up1(b), a], 1))
        return self.out(a)


def dice(logits, mask):
    p = (logits > 0).float()
    inter = (p * mask).sum((1, 2, 3))
    return ((2 * inter + 1) / (p.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + 1)).mean().item()


train_dl = DataLoader(Nuclei(320), batch_size=16, shuffle=True, drop_last=True)
val_dl = DataLoader(Nuclei(120), batch_size=60)
net = UNet()
loss_fn = nn.BCEWithLogitsLoss()
opt = torch.optim.AdamW(net.parameters(), lr=2e-6, weight_decay=1e-4)

for epoch in range(1, 13):
    net.train()
    running = 0.0
    for batch in train_dl:
        opt.zero_grad()
        loss = loss_fn(net(batch["image"]), batch["mask"])
        loss.backward()
        opt.step()
        running += loss.item()
    net.eval()
    with torch.no_grad():
        outs = [(net(b["image"]), b["mask"]) for b in val_dl]
    vloss = sum(loss_fn(o, m).item() for o, m in outs) / len(outs)
    vdice = sum(dice(o, m) for o, m in outs) / len(outs)
    print(f"[{epoch:2d}] train bce {running / len(train_dl):.4f}  val bce {vloss:.4f}  val dice {vdice:.3f}")
