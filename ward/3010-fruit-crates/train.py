import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

KINDS = {"tomato": (200, 45, 40), "lemon": (225, 205, 60), "lime": (90, 180, 60), "plum": (95, 50, 130), "blueberry": (60, 80, 170)}
SIZE = 20


class Camera:
    """Stands in for the picture folder: frames as the driver returns them (h, w, 3), uint8, blue first."""

    def __init__(self, n, seed):
        self.rng = np.random.RandomState(seed)
        self.frames, self.kind = [], []
        names = list(KINDS)
        for _ in range(n):
            k = self.rng.randint(len(names))
            self.frames.append(self.shoot(np.array(KINDS[names[k]], float)))
            self.kind.append(k)

    def shoot(self, rgb):
        r = self.rng
        frame = np.full((SIZE, SIZE, 3), r.uniform(90, 170)) + r.normal(0, 12, 3)
        yy, xx = np.mgrid[:SIZE, :SIZE]
        for _ in range(r.randint(1, 4)):
            cy, cx, rad = r.uniform(3, SIZE - 3), r.uniform(3, SIZE - 3), r.uniform(2.5, 5)
            inside = (yy - cy) ** 2 + (xx - cx) ** 2 < rad ** 2
            frame[inside] = rgb * r.uniform(0.75, 1.15) + r.normal(0, 14, 3)
        frame = frame + r.normal(0, 14, frame.shape)
        return np.clip(frame, 0, 255).astype(np.uint8)[:, :, ::-1].copy()


def bgr2rgb(frame):
    return np.ascontiguousarray(frame[:, :, ::-1])


class CrateDataset(Dataset):
    def __init__(self, camera, augment=False):
        self.camera, self.augment = camera, augment

    def __len__(self):
        return len(self.camera.frames)

    def __getitem__(self, i):
        frame = self.camera.frames[i]
        if self.augment:
            frame = bgr2rgb(frame)
            if np.random.rand() < 0.5:
                frame = frame[:, ::-1].copy()
        img = torch.from_numpy(frame).permute(2, 0, 1).float() / 127.5 - 1
        return img, self.camera.kind[i]


class FruitNet(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.c1 = nn.Conv2d(3, 12, 3, padding=1)
        self.c2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc = nn.Linear(24, n)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.relu(self.c2(x))
        return self.fc(x.amax((2, 3)))


def main():
    np.random.seed(0)
    torch.manual_seed(0)
    train = DataLoader(CrateDataset(Camera(1600, 1), augment=True), batch_size=32, shuffle=True)
    val = DataLoader(CrateDataset(Camera(500, 2)), batch_size=100)
    model = FruitNet(len(KINDS))
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 14)
    for epoch in range(14):
        model.train()
        losses, hits = [], 0
        for x, y in train:
            out = model(x)
            loss = F.cross_entropy(out, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
            hits += (out.argmax(1) == y).sum().item()
        sched.step()
        model.eval()
        vloss, vhits = 0.0, 0
        with torch.no_grad():
            for x, y in val:
                out = model(x)
                vloss += F.cross_entropy(out, y).item() / len(val)
                vhits += (out.argmax(1) == y).sum().item()
        print(f"epoch {epoch:2d} loss {np.mean(losses):.4f} acc {hits / 1600:.4f} val_loss {vloss:.4f} val_acc {vhits / 500:.4f}")


main()
