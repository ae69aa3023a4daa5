import math

import torch
import torch.nn as nn


def textures(n, g):
    """Oriented stripes in noise, 24x24; four orientations."""
    y = torch.randint(0, 4, (n,), generator=g)
    angle = y * math.pi / 4 + 0.12 * torch.randn(n, generator=g)
    freq = 1.2 + 0.3 * torch.rand(n, generator=g)
    phase = 6.28 * torch.rand(n, generator=g)
    r = torch.arange(24.0)
    u = torch.cos(angle)[:, None, None] * r[None, None, :] + torch.sin(angle)[:, None, None] * r[None, :, None]
    img = torch.sin(freq[:, None, None] * u + phase[:, None, None]) + 0.9 * torch.randn(n, 24, 24, generator=g)
    return img[:, None] / img.std(), y


class TextureNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 16, 5, padding=2)
        self.mid = nn.Conv2d(16, 24, 3, padding=1)
        self.fc = nn.Linear(24, 4)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.stem(x)), 2)
        x = torch.relu(self.mid(x))
        return self.fc(x.mean((2, 3)))


class FeatureTap:
    """Keeps feature maps of chosen layers so that they can be looked at."""

    def __init__(self, model, names):
        self.maps = {name: [] for name in names}
        for name in names:
            getattr(model, name).register_forward_hook(self.hook(name))

    def hook(self, name):
        def keep(module, inputs, output):
            self.maps[name].append(output.detach().clone())
        return keep

    def summary(self):
        return {name: round(maps[-1].abs().mean().item(), 3) for name, maps in self.maps.items()}


g = torch.Generator().manual_seed(6)
torch.manual_seed(6)
x_train, y_train = textures(3000, g)
x_test, y_test = textures(600, g)
model = TextureNet()
tap = FeatureTap(model, ["stem", "mid"])
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(10):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(y_train)).split(50):
        loss = nn.functional.cross_entropy(model(x_train[idx]), y_train[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() / 60
    model.eval()
    with torch.no_grad():
        out = model(x_test)
    print(f"epoch {epoch + 1:2d} train {total:.4f} test {nn.functional.cross_entropy(out, y_test):.4f} "
          f"acc {(out.argmax(1) == y_test).float().mean():.3f} maps {tap.summary()}")
