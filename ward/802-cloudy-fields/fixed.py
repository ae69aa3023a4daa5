"""Crop masks from satellite tiles; pixels under clouds carry no annotation."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Tiles(Dataset):
    def __init__(self, n, seed, size=16):
        g = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
        cy, cx = torch.randint(3, size - 3, (2, n, 1, 1), generator=g)
        half = torch.randint(2, 6, (n, 1, 1), generator=g)
        self.mask = (((yy - cy).abs() <= half) & ((xx - cx).abs() <= half)).float()
        self.image = (self.mask - 0.3 + 0.6 * torch.randn(n, size, size, generator=g)).unsqueeze(1)
        cover = torch.rand(n, 1, 1, generator=g) ** 3          # share of the tile under clouds
        cover[torch.rand(n, 1, 1, generator=g) < 0.004] = 1.0
        self.clear = (torch.rand(n, size, size, generator=g) >= cover).float()

    def __len__(self):
        return len(self.image)

    def __getitem__(self, i):
        return self.image[i], self.mask[i], self.clear[i]


class SmallUNet(nn.Module):
    def __init__(self, c=12):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.GELU(), nn.Conv2d(c, c, 3, padding=1), nn.GELU())
        self.deep = nn.Sequential(nn.Conv2d(c, 2 * c, 3, padding=1), nn.GELU())
        self.up = nn.Sequential(nn.Conv2d(3 * c, c, 3, padding=1), nn.GELU(), nn.Conv2d(c, 1, 1))

    def forward(self, x):
        a = self.down(x)
        b = F.interpolate(self.deep(F.max_pool2d(a, 2)), scale_factor=2)
        return self.up(torch.cat([a, b], 1)).squeeze(1)


def tile_loss(logits, mask, clear):
    per_pixel = F.binary_cross_entropy_with_logits(logits, mask, reduction="none")
    per_tile = (per_pixel * clear).sum((1, 2)) / clear.sum((1, 2)).clamp(min=1)
    return per_tile.mean()


def main():
    torch.manual_seed(0)
    loader = DataLoader(Tiles(800, seed=5), batch_size=20, shuffle=True)
    model = SmallUNet()
    opt = torch.optim.AdamW(model.parameters(), lr=4e-3)
    held = Tiles(100, seed=6)
    for epoch in range(3):
        model.train()
        for k, (image, mask, clear) in enumerate(loader):
            loss = tile_loss(model(image), mask, clear)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            if k % 10 == 0:
                print(f"epoch {epoch} batch {k:2d} loss {loss.item():.4f}")
        model.eval()
        with torch.no_grad():
            hit = ((model(held.image) > 0).float() == held.mask).float().mean().item()
        print(f"epoch {epoch} held-out pixel accuracy {hit:.4f}")


if __name__ == "__main__":
    main()
