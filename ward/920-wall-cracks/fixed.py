"""Crack masks for wall photographs, fully convolutional."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class WallPhotos:
    """Noisy 20x20 patches with a thin faint line in some of them."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.masks = torch.zeros(n, 1, 20, 20)
        for i in range(n):
            r, c = torch.randint(1, 19, (2,), generator=g).tolist()
            if torch.rand(1, generator=g) < 0.5:
                self.masks[i, 0, r, max(0, c - 4):c + 5] = 1
            else:
                self.masks[i, 0, max(0, r - 4):r + 5, c] = 1
        self.images = 0.9 * self.masks + torch.randn(n, 1, 20, 20, generator=g)

    def batches(self, size):
        for idx in torch.randperm(len(self.images)).split(size):
            yield self.images[idx], self.masks[idx]


class PixelLoss(nn.Module):
    def __init__(self, crack_share):
        super().__init__()
        self.crack_share = crack_share

    def forward(self, logits, mask):
        weight = torch.where(mask > 0, 0.5 / self.crack_share, 0.5 / (1 - self.crack_share))
        return F.binary_cross_entropy_with_logits(logits, mask, weight)


torch.manual_seed(9)
train, val = WallPhotos(600, 1), WallPhotos(200, 2)
net = nn.Sequential(
    nn.Conv2d(1, 8, 5, padding=2), nn.ReLU(),
    nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(),
    nn.Conv2d(8, 1, 1),
)
loss_fn = PixelLoss(train.masks.mean())
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(5):
    net.train()
    losses = []
    for image, mask in train.batches(24):
        loss = loss_fn(net(image), mask)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        logits = net(val.images)
        pred = logits > 0
        truth = val.masks > 0
        recall = (pred & truth).sum() / truth.sum()
        acc = (pred == truth).float().mean()
    print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f} val {loss_fn(logits, val.masks).item():.4f} pixel acc {acc:.3f} crack recall {recall:.3f}")
