"""Bee detection as heatmaps (CenterNet-like head, penalty-reduced focal loss)."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

PRIOR = 0.01


def hive_images(n, size=16):
    yy, xx = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing="ij")
    img, heat = 0.4 * torch.randn(n, 1, size, size), torch.zeros(n, 1, size, size)
    centres = torch.randint(2, size - 2, (n, 3, 2)).float()
    for k in range(3):
        cy, cx = centres[:, k, 0].view(-1, 1, 1), centres[:, k, 1].view(-1, 1, 1)
        d2 = (yy - cy) ** 2 + (xx - cx) ** 2
        img[:, 0] += 1.5 * torch.exp(-d2 / 2.5)
        heat[:, 0] = torch.maximum(heat[:, 0], torch.exp(-d2 / 1.0))
    return img, heat


class HeatmapHead(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.out = nn.Conv2d(width, 1, 1)
        self.init_weights()

    def init_weights(self):
        bias = -math.log((1 - PRIOR) / PRIOR)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
                nn.init.zeros_(m.bias)
        nn.init.constant_(self.out.bias, bias)

    def forward(self, x):
        return self.out(F.relu(self.conv2(F.relu(self.conv1(x)))))


def focal(logits, heat, alpha=2.0, beta=4.0):
    pos = (heat > 0.999).float()
    logp, lognp = F.logsigmoid(logits), F.logsigmoid(-logits)
    p = logits.sigmoid()
    loss = -(pos * (1 - p) ** alpha * logp + (1 - pos) * (1 - heat) ** beta * p ** alpha * lognp)
    return loss.sum() / pos.sum()


def peak_recall(logits, heat):
    top = logits.flatten(1).topk(3).indices
    return (heat.flatten(1).gather(1, top) > 0.999).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(33)
    x, heat = hive_images(960)
    vx, vheat = hive_images(200)
    model = HeatmapHead()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(6):
        total = 0.0
        for idx in torch.randperm(len(x)).split(32):
            loss = focal(model(x[idx]), heat[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        with torch.no_grad():
            out = model(vx)
        print(f"epoch {epoch}: focal {total / len(x):.4f}  val focal {focal(out, vheat).item():.4f}  peaks found {peak_recall(out, vheat):.3f}")
