"""Pretrain a small CNN on glyphs of one typeface, then fine-tune it on a few glyphs of another."""
import torch
import torch.nn as nn
import torch.nn.functional as F

CFG = dict(glyphs=8, size=12, pretrain_steps=160, finetune_steps=160, pretrain_lr=2e-3, finetune_lr=0.08, batch=32)


class Typeface:
    """Glyph templates; the second typeface is a bolder, slightly redrawn version of the first."""

    def __init__(self, seed, parent=None, bold=0.0):
        g = torch.Generator().manual_seed(seed)
        noise = torch.randn(CFG["glyphs"], 1, CFG["size"], CFG["size"], generator=g)
        blur = F.avg_pool2d(noise, 3, 1, 1) * 2.5
        self.templates = blur if parent is None else 0.8 * parent.templates + 0.6 * blur + bold
        self.g = g

    def sample(self, n):
        y = torch.randint(CFG["glyphs"], (n,), generator=self.g)
        dx, dy = torch.randint(-1, 2, (2,), generator=self.g).tolist()
        x = self.templates[y].roll((dy, dx), (2, 3))
        return x + 0.9 * torch.randn(x.shape, generator=self.g), y


class GlyphNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        )
        self.classifier = nn.Linear(24 * 9, classes)

    def forward(self, x):
        return self.classifier(self.features(x))


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        out = model(x)
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


def train(model, face, steps, lr, tag):
    x_val, y_val = face.sample(400)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    print(f"{tag}: before", "loss %.3f acc %.3f" % accuracy(model, x_val, y_val))
    for step in range(1, steps + 1):
        model.train()
        x, y = face.sample(CFG["batch"])
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(f"{tag}: step {step} train loss {loss.item():.3f} val loss %.3f acc %.3f" % accuracy(model, x_val, y_val))


if __name__ == "__main__":
    torch.manual_seed(19)
    garamond = Typeface(seed=1)
    bodoni = Typeface(seed=2, parent=garamond, bold=0.2)
    net = GlyphNet(CFG["glyphs"])
    train(net, garamond, CFG["pretrain_steps"], CFG["pretrain_lr"], "garamond")
    train(net, bodoni, CFG["finetune_steps"], CFG["finetune_lr"], "bodoni")
