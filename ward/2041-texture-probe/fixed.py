import math

import torch
import torch.nn as nn

torch.manual_seed(31)


def gratings(n, gen, size=20):
    """Stripes in one of four directions, with random phase, pitch and noise."""
    label = torch.randint(4, (n,), generator=gen)
    angle = label * math.pi / 4 + (torch.rand(n, generator=gen) - 0.5) * 0.35
    pitch = 0.7 + 0.6 * torch.rand(n, generator=gen)
    phase = 2 * math.pi * torch.rand(n, generator=gen)
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    ray = torch.cos(angle)[:, None, None] * xx + torch.sin(angle)[:, None, None] * yy
    clean = torch.sin(pitch[:, None, None] * ray + phase[:, None, None])
    return (clean + 2 * torch.randn(n, size, size, generator=gen))[:, None], label


class ActivationProbe:
    """Watches the mean activation of each conv layer while training."""

    def __init__(self, model):
        self.records = {}
        for name, module in model.named_modules():
            if isinstance(module, nn.Conv2d):
                self.records[name] = None
                module.register_forward_hook(self.hook_for(name))

    def hook_for(self, name):
        def hook(module, inputs, output):
            self.records[name] = output.detach()
        return hook

    def summary(self):
        return ", ".join(f"{name} {r.abs().mean():.3f}" for name, r in self.records.items())


class TextureNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 5, padding=2)
        self.conv2 = nn.Conv2d(12, 16, 3, padding=1)
        self.head = nn.Linear(16, classes)

    def forward(self, x):
        x = nn.functional.avg_pool2d(torch.relu(self.conv1(x)), 2)
        x = torch.relu(self.conv2(x)).mean((2, 3))
        return self.head(x)


gen = torch.Generator().manual_seed(1)
val_x, val_y = gratings(600, torch.Generator().manual_seed(2))
model = TextureNet()
probe = ActivationProbe(model)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=500)

mean_loss = 0.0
for step in range(1, 501):
    model.train()
    x, y = gratings(48, gen)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    mean_loss += loss.item() / 50
    if step % 50 == 0:
        activity = probe.summary()
        model.eval()
        with torch.no_grad():
            out = model(val_x)
            val = nn.functional.cross_entropy(out, val_y)
            acc = (out.argmax(1) == val_y).float().mean()
        print(f"step {step:4d}  train {mean_loss:.4f}  val {val:.4f}  acc {acc:.3f}  [{activity}]")
        mean_loss = 0.0
