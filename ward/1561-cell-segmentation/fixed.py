"""Segment cells (1) and debris (2) in small microscope pictures."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SIZE = 24


class CellPictures(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        rows, cols = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
        self.images, self.masks = [], []
        for _ in range(n):
            img = 0.2 + 0.15 * torch.randn(SIZE, SIZE, generator=g)
            mask = torch.zeros(SIZE, SIZE, dtype=torch.long)
            for _ in range(int(torch.randint(1, 4, (1,), generator=g))):
                r, c = torch.randint(4, SIZE - 4, (2,), generator=g).tolist()
                radius = 2 + 2 * torch.rand(1, generator=g).item()
                disc = (rows - r) ** 2 + (cols - c) ** 2 <= radius ** 2
                img[disc] += 0.7
                mask[disc] = 1
            r, c = torch.randint(0, SIZE - 3, (2,), generator=g).tolist()
            img[r:r + 2, c:c + 3] += 1.4
            mask[r:r + 2, c:c + 3] = 2
            self.images.append(img.unsqueeze(0))
            self.masks.append(mask)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.masks[i]


class SegNet(nn.Module):
    def __init__(self, ch=16, classes=3):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, ch, 3, padding=1), nn.BatchNorm2d(ch), nn.ReLU(),
                                 nn.Conv2d(ch, ch, 3, padding=1), nn.BatchNorm2d(ch), nn.ReLU())
        self.mid = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(ch, 2 * ch, 3, padding=1), nn.ReLU())
        self.dec = nn.Sequential(nn.Conv2d(3 * ch, ch, 3, padding=1), nn.ReLU(), nn.Conv2d(ch, classes, 1))

    def forward(self, x):
        e = self.enc(x)
        m = F.interpolate(self.mid(e), scale_factor=2, mode="nearest")
        return F.log_softmax(self.dec(torch.cat([e, m], dim=1)), dim=1)


@torch.no_grad()
def evaluate(net, loader, criterion):
    net.eval()
    loss, inter, union = 0.0, torch.zeros(3), torch.zeros(3)
    for x, y in loader:
        out = net(x)
        loss += criterion(out, y).item() / len(loader)
        p = out.argmax(1)
        for c in range(3):
            inter[c] += ((p == c) & (y == c)).sum()
            union[c] += ((p == c) | (y == c)).sum()
    return loss, (inter / union).tolist()


if __name__ == "__main__":
    torch.manual_seed(0)
    train = DataLoader(CellPictures(300, 0), batch_size=20, shuffle=True)
    val = DataLoader(CellPictures(80, 1), batch_size=40)
    net = SegNet()
    criterion = nn.NLLLoss()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(1, 13):
        net.train()
        total = 0.0
        for x, y in train:
            opt.zero_grad()
            loss = criterion(net(x), y)
            loss.backward()
            opt.step()
            total += loss.item() / len(train)
        vloss, iou = evaluate(net, val, criterion)
        print(f"epoch {epoch:2d} train {total:.4f} val {vloss:.4f} IoU background {iou[0]:.3f} cell {iou[1]:.3f} debris {iou[2]:.3f}")
