"""Segment bright round cells on a noisy background."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SIZE = 16


class Cells(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
        masks = torch.zeros(n, SIZE, SIZE)
        for _ in range(3):
            cy, cx = (torch.rand(n, 1, 1, generator=g) * SIZE for _ in range(2))
            r = 2.0 + 1.5 * torch.rand(n, 1, 1, generator=g)
            masks = torch.maximum(masks, ((yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2).float())
        images = masks * 1.2 + 0.6 * torch.randn(n, SIZE, SIZE, generator=g)
        self.images, self.masks = (images - 0.2)[:, None], masks[:, None]

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.masks[i]


class TinyUNet(nn.Module):
    def __init__(self, c=6):
        super().__init__()
        self.enc1 = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.BatchNorm2d(c), nn.ReLU())
        self.enc2 = nn.Sequential(nn.Conv2d(c, 2 * c, 3, padding=1), nn.BatchNorm2d(2 * c), nn.ReLU())
        self.dec = nn.Sequential(nn.Conv2d(3 * c, c, 3, padding=1), nn.BatchNorm2d(c), nn.ReLU())
        self.out = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = self.enc1(x)
        b = F.interpolate(self.enc2(F.max_pool2d(a, 2)), scale_factor=2.0)
        return self.out(self.dec(torch.cat([a, b], dim=1)))


def dice(logits, mask):
    p = (logits > 0).float()
    return (2 * (p * mask).sum() / (p.sum() + mask.sum() + 1e-6)).item()


def main(epochs=7, accum_steps=2, lr=1e-2):
    torch.manual_seed(0)
    train_loader = DataLoader(Cells(448, 1), batch_size=16, shuffle=True)
    val_loader = DataLoader(Cells(160, 2), batch_size=80)
    net = TinyUNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    global_step = 0
    optimizer.zero_grad()
    for epoch in range(epochs):
        net.train()
        epoch_loss = 0.0
        for images, masks in train_loader:
            loss = F.binary_cross_entropy_with_logits(net(images), masks)
            (loss / accum_steps).backward()
            epoch_loss += loss.item() / len(train_loader)
            if (global_step + 1) % accum_steps == 0:
                optimizer.step()
                optimizer.zero_grad()
            global_step += 1
        net.eval()
        with torch.no_grad():
            logits = torch.cat([net(images) for images, _ in val_loader])
            val_masks = val_loader.dataset.masks
            val_loss, val_dice = F.binary_cross_entropy_with_logits(logits, val_masks).item(), dice(logits, val_masks)
        print(f"epoch {epoch + 1}  train {epoch_loss:.4f}  val {val_loss:.4f}  dice {val_dice:.3f}")


main()
