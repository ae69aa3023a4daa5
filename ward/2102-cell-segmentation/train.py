import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

config = {
    "seed": 5,
    "size": 32,
    "n_train": 320,
    "n_val": 120,
    "batch_size": 16,
    "epochs": 12,
    "lr": 2e-4,
    "momentum": 0.9,
}
torch.manual_seed(config["seed"])


class Cells(Dataset):
    """Bright round cells of random size on a noisy background, with their masks."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        s = config["size"]
        yy, xx = np.mgrid[:s, :s]
        images, masks = [], []
        for _ in range(n):
            mask = np.zeros((s, s), dtype=bool)
            for _ in range(rng.integers(2, 5)):
                cy, cx, r = rng.uniform(5, s - 5), rng.uniform(5, s - 5), rng.uniform(3, 7)
                mask |= (yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2
            img = mask * rng.uniform(0.8, 1.4) + rng.normal(0, 0.5, (s, s)) + rng.uniform(-0.3, 0.3)
            images.append(img)
            masks.append(mask)
        self.images = torch.tensor(np.array(images), dtype=torch.float32).unsqueeze(1)
        self.masks = torch.tensor(np.array(masks), dtype=torch.float32).unsqueeze(1)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.masks[i]


def conv_block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(),
        nn.Conv2d(cout, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(),
    )


class TinyUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1 = conv_block(1, 8)
        self.down2 = conv_block(8, 16)
        self.up1 = conv_block(24, 8)
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        u = F.interpolate(b, scale_factor=2, mode="bilinear", align_corners=False)
        return self.out(self.up1(torch.cat([a, u], dim=1)))


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.train_loader = DataLoader(Cells(cfg["n_train"], 0), batch_size=cfg["batch_size"], shuffle=True)
        self.val_loader = DataLoader(Cells(cfg["n_val"], 1), batch_size=60)
        self.net = TinyUNet()
        self.optim = torch.optim.SGD(self.net.parameters(), lr=cfg["lr"], momentum=cfg["momentum"])

    def train_epoch(self):
        self.net.train()
        losses = []
        for img, mask in self.train_loader:
            self.optim.zero_grad()
            loss = F.binary_cross_entropy_with_logits(self.net(img), mask)
            loss.backward()
            self.optim.step()
            losses.append(loss.item())
        return float(np.mean(losses))

    @torch.no_grad()
    def evaluate(self):
        self.net.eval()
        inter = union = loss = 0.0
        for img, mask in self.val_loader:
            logits = self.net(img)
            loss += F.binary_cross_entropy_with_logits(logits, mask).item() / len(self.val_loader)
            pred = logits > 0
            inter += (pred & (mask > 0)).sum().item()
            union += (pred | (mask > 0)).sum().item()
        return loss, inter / union

    def fit(self):
        for epoch in range(self.cfg["epochs"]):
            train_loss = self.train_epoch()
            val_loss, iou = self.evaluate()
            print(f"epoch {epoch + 1:2d}: train {train_loss:.4f} val {val_loss:.4f} IoU {iou:.3f}")


Trainer(config).fit()
