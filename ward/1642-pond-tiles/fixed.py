import torch
from torch import nn

torch.manual_seed(21)


def tiles(n, side=14):
    """Fields with a round pond in them; the mask is 1 where water is."""
    rows = torch.arange(side).view(1, side, 1).float()
    columns = torch.arange(side).view(1, 1, side).float()
    centre = torch.rand(n, 2) * (side - 6) + 3
    radius = torch.rand(n, 1, 1) * 2 + 1.5
    distance = ((rows - centre[:, 0].view(-1, 1, 1)) ** 2 + (columns - centre[:, 1].view(-1, 1, 1)) ** 2).sqrt()
    mask = (distance < radius).float()
    image = 0.8 * mask + 0.4 * torch.randn(n, side, side)
    return image.unsqueeze(1), mask


class PondNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, 1, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(1)


def focal(logits, mask, gamma=2.0):
    probability = torch.sigmoid(logits)
    right = probability * mask + (1 - probability) * (1 - mask)
    return -((1 - right) ** gamma * torch.log(right.clamp(min=1e-6))).mean()


images, masks = tiles(384)
val_images, val_masks = tiles(96)
model = PondNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(12):
    order = torch.randperm(len(images))
    losses = []
    for start in range(0, len(order), 32):
        batch = order[start : start + 32]
        loss = focal(model(images[batch]), masks[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        guess = (model(val_images) > 0).float()
        overlap = (guess * val_masks).sum() / ((guess + val_masks) > 0).float().sum()
    print(f"epoch {epoch + 1} loss {sum(losses) / len(losses):.4f} val iou {overlap:.3f}")
