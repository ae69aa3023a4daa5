"""Fruit sort (5 kinds) from conveyor pictures. The camera SDK hands over H x W x 3 uint8 frames in BGR, as OpenCV does."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

FRUIT_RGB = {"apple": (205, 70, 60), "plum": (120, 65, 170), "pear": (185, 190, 75), "orange": (225, 145, 45), "quince": (215, 190, 95)}
KINDS = list(FRUIT_RGB)


def grab_frames(n, seed):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, len(KINDS), n)
    yy, xx = np.mgrid[0:14, 0:14]
    frames = np.empty((n, 14, 14, 3), dtype=np.uint8)
    for i, k in enumerate(kind):
        cy, cx, r = rng.uniform(5, 9), rng.uniform(5, 9), rng.uniform(3.0, 5.0)
        disc = ((yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2)[..., None]
        belt = np.array([95, 85, 70]) + rng.normal(0, 8, 3)
        colour = np.array(FRUIT_RGB[KINDS[k]]) * rng.uniform(0.75, 1.1) + rng.normal(0, 10, 3)
        rgb = np.where(disc, colour, belt) + rng.normal(0, 14, (14, 14, 3))
        frames[i] = rgb.clip(0, 255)[..., ::-1]
    return frames, kind


# ---- transforms -------------------------------------------------------------------------------------------------
class Compose:
    def __init__(self, *steps):
        self.steps = steps

    def __call__(self, frame):
        for step in self.steps:
            frame = step(frame)
        return frame


def bgr_to_rgb(frame):
    return frame[:, :, ::-1]


def random_flip(frame):
    return frame[:, ::-1] if np.random.rand() < 0.5 else frame


def to_tensor(frame):
    return torch.from_numpy(np.ascontiguousarray(frame)).permute(2, 0, 1).float() / 255


class Normalize:
    def __init__(self, mean, std):
        self.mean, self.std = torch.tensor(mean).view(3, 1, 1), torch.tensor(std).view(3, 1, 1)

    def __call__(self, image):
        return (image - self.mean) / self.std


normalize = Normalize([0.50, 0.39, 0.30], [0.20, 0.16, 0.12])
train_tf = Compose(bgr_to_rgb, random_flip, to_tensor, normalize)
val_tf = Compose(to_tensor, normalize)


# ---- data, model, loop ------------------------------------------------------------------------------------------
class Conveyor(Dataset):
    def __init__(self, frames, kind, transform):
        self.frames, self.kind, self.transform = frames, kind, transform

    def __len__(self):
        return len(self.kind)

    def __getitem__(self, i):
        return self.transform(self.frames[i]), int(self.kind[i])


def build_model():
    return nn.Sequential(
        nn.Conv2d(3, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, len(KINDS)),
    )


if __name__ == "__main__":
    np.random.seed(0)
    torch.manual_seed(0)
    train_loader = DataLoader(Conveyor(*grab_frames(960, 1), train_tf), batch_size=32, shuffle=True)
    val_loader = DataLoader(Conveyor(*grab_frames(300, 2), val_tf), batch_size=150)
    model, criterion = build_model(), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for epoch in range(5):
        model.train()
        train_loss = 0.0
        for image, label in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(image), label)
            loss.backward()
            optimizer.step()
            train_loss += loss.item()
        model.eval()
        val_loss, correct = 0.0, 0
        with torch.no_grad():
            for image, label in val_loader:
                out = model(image)
                val_loss += criterion(out, label).item()
                correct += (out.argmax(1) == label).sum().item()
        print(f"epoch {epoch + 1}: train loss {train_loss / len(train_loader):.4f}, val loss {val_loss / len(val_loader):.4f}, val acc {correct / 300:.3f}")
