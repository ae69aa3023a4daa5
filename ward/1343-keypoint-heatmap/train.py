import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    size: int = 24
    stride: int = 2
    width: int = 16
    prior: float = 0.01
    batch: int = 32
    steps: int = 300
    lr: float = 1e-3
    seed: int = 9


def draw(n, cfg, gen):
    """Crosses (class 0) and squares (class 1) on noise; target = gaussian heatmap per class, CenterNet style."""
    S, s = cfg.size, cfg.stride
    img = 0.4 * torch.randn(n, 1, S, S, generator=gen)
    heat = torch.zeros(n, 2, S // s, S // s)
    grid = torch.arange(S // s).float()
    for b in range(n):
        for _ in range(int(torch.randint(1, 4, (1,), generator=gen))):
            cls = int(torch.randint(0, 2, (1,), generator=gen))
            cy, cx = torch.randint(3, S - 3, (2,), generator=gen).tolist()
            if cls == 0:
                img[b, 0, cy - 2:cy + 3, cx] += 1.5
                img[b, 0, cy, cx - 2:cx + 3] += 1.5
            else:
                img[b, 0, cy - 2:cy + 3, cx - 2:cx + 3] += 1.5
                img[b, 0, cy - 1:cy + 2, cx - 1:cx + 2] -= 1.5
            blob = torch.exp(-((grid[:, None] - cy // s) ** 2 + (grid[None] - cx // s) ** 2) / (2 * 0.8 ** 2))
            heat[b, cls] = torch.maximum(heat[b, cls], blob)
    return img, heat


class CenterHead(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        w = cfg.width
        self.stem = nn.Conv2d(1, w, 3, padding=1)
        self.conv1 = nn.Conv2d(w, w, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(w, w, 3, padding=1)
        self.conv3 = nn.Conv2d(w, w, 3, padding=1)
        self.heatmap = nn.Conv2d(w, 2, 1)
        self.init_weights(cfg.prior)

    def init_weights(self, prior):
        # start from the prior probability of a centre, as in RetinaNet
        bias = -math.log((1 - prior) / prior)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
                nn.init.constant_(m.bias, bias)

    def forward(self, x):
        for layer in (self.stem, self.conv1, self.conv2, self.conv3):
            x = F.relu(layer(x))
        return self.heatmap(x)


def focal(logits, heat):
    p = torch.sigmoid(logits).clamp(1e-4, 1 - 1e-4)
    pos = heat.eq(1).float()
    pos_loss = (1 - p) ** 2 * torch.log(p) * pos
    neg_loss = (1 - heat) ** 4 * p ** 2 * torch.log(1 - p) * (1 - pos)
    return -(pos_loss.sum() + neg_loss.sum()) / pos.sum().clamp(min=1)


class Trainer:
    def __init__(self, cfg):
        torch.manual_seed(cfg.seed)
        gen = torch.Generator().manual_seed(cfg.seed)
        self.cfg, self.gen = cfg, gen
        self.images, self.heats = draw(1600, cfg, gen)
        self.val_images, self.val_heats = draw(200, cfg, gen)
        self.model = CenterHead(cfg)
        self.opt = torch.optim.Adam(self.model.parameters(), lr=cfg.lr)

    def validate(self):
        self.model.eval()
        with torch.no_grad():
            out = self.model(self.val_images)
        loss = focal(out, self.val_heats).item()
        # peaks found within the local maximum filter
        p = out.sigmoid()
        peak = (F.max_pool2d(p, 3, 1, 1) == p) & (p > 0.4)
        truth = self.val_heats == 1
        near = F.max_pool2d(truth.float(), 3, 1, 1) > 0
        found = F.max_pool2d(peak.float(), 3, 1, 1) > 0
        recall = (found & truth).sum() / truth.sum()
        precision = (peak & near).sum() / peak.sum().clamp(min=1)
        self.model.train()
        return loss, recall.item(), precision.item()

    def fit(self):
        for step in range(1, self.cfg.steps + 1):
            pick = torch.randint(0, len(self.images), (self.cfg.batch,), generator=self.gen)
            loss = focal(self.model(self.images[pick]), self.heats[pick])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            if step % 30 == 0:
                v, r, p = self.validate()
                print(f"step {step:4d} loss {loss.item():.3f} val {v:.3f} recall {r:.3f} precision {p:.3f}")


Trainer(Config()).fit()
