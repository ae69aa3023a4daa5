"""Frost pattern classes from 14x14 thermograms; VGG-like net with the old torchvision weight initialisation."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class FrostVGG(nn.Module):
    cfg = [12, "M", 24, "M", 24]

    def __init__(self, classes=4):
        super().__init__()
        layers, cin = [], 1
        for v in self.cfg:
            if v == "M":
                layers.append(nn.MaxPool2d(2))
            else:
                layers += [nn.Conv2d(cin, v, 3, padding=1), nn.ReLU(True)]
                cin = v
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Linear(24 * 9, 48), nn.ReLU(True), nn.Linear(48, classes))
        self._initialize_weights()

    def _initialize_weights(self):
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                std = math.sqrt(2.0 / m.kernel_size[0] * m.kernel_size[1] * m.out_channels)
                m.weight.data.normal_(0, std)
                m.bias.data.zero_()
            elif isinstance(m, nn.Linear):
                m.weight.data.normal_(0, math.sqrt(1.0 / m.in_features))
                m.bias.data.zero_()

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def thermograms(n, g):
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, 14), torch.linspace(-1, 1, 14), indexing="ij")
    label = torch.randint(0, 4, (n,), generator=g)
    cx, cy = (torch.rand(2, n, 1, 1, generator=g) - 0.5) * 0.6
    r = ((xx - cx) ** 2 + (yy - cy) ** 2).sqrt()
    a = torch.atan2(yy - cy, xx - cx)
    arms = torch.tensor([0.0, 3.0, 4.0, 6.0])[label][:, None, None]
    turn = 6.28 * torch.rand(n, 1, 1, generator=g)
    pic = torch.exp(-2 * r) * (1 + 1.5 * torch.cos(arms * a + turn))
    pic = pic + 0.15 * torch.randn(n, 14, 14, generator=g)
    return ((pic - pic.mean()) / pic.std())[:, None], label


g = torch.Generator().manual_seed(10)
torch.manual_seed(10)
x, y = thermograms(1500, g)
x_test, y_test = thermograms(400, g)
model = FrostVGG()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
for epoch in range(1, 8):
    model.train()
    losses = []
    for idx in torch.randperm(len(y)).split(50):
        loss = F.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        acc = (model(x_test).argmax(1) == y_test).float().mean().item()
    print(f"Epoch {epoch}  first loss {losses[0]:.4g}  mean loss {sum(losses) / len(losses):.4g}  test acc {acc:.3f}")
