import torch
import torch.nn as nn


def leaf_images(n, size=12):
    """Bright round spots on a dull leaf; the mask marks the spots."""
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    mask = torch.zeros(n, size, size)
    for _ in range(2):
        cy, cx, r = torch.randint(2, size - 2, (n, 1, 1)), torch.randint(2, size - 2, (n, 1, 1)), 1 + 2 * torch.rand(n, 1, 1)
        mask = torch.maximum(mask, ((yy - cy) ** 2 + (xx - cx) ** 2 <= r ** 2).float())
    image = mask * 1.6 - 0.4 + 0.35 * torch.randn(n, size, size)
    return image[:, None], mask[:, None]


class SpotNet(nn.Module):
    def __init__(self, ch=12):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, ch, 3, padding=1), nn.ReLU(), nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU())
        self.dec = nn.Conv2d(ch + 1, 1, 3, padding=1)

    def forward(self, x):
        return torch.sigmoid(self.dec(torch.cat([self.enc(x), x], dim=1)))


def pixel_loss(p, mask):
    p = p.clamp(1e-6, 1 - 1e-6)
    return -(mask * torch.log(p) + (1 - mask) * torch.log(1 - p)).mean()


def iou(p, mask):
    hit = p > 0.5
    return ((hit & (mask > 0.5)).sum() / (hit | (mask > 0.5)).sum()).item()


if __name__ == "__main__":
    torch.manual_seed(9)
    images, masks = leaf_images(500)
    val_images, val_masks = leaf_images(150)
    net = SpotNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for epoch in range(1, 8):
        net.train()
        seen = []
        for pick in torch.randperm(500).split(25):
            loss = pixel_loss(net(images[pick]), masks[pick])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen.append(loss.item())
        net.eval()
        with torch.no_grad():
            p = net(val_images)
        print(f"epoch {epoch}: loss {sum(seen) / len(seen):.4f} val {pixel_loss(p, val_masks).item():.4f} IoU {iou(p, val_masks):.3f}")
