import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(31)
N_ANGLES, N_FREQS = 4, 2
CLASSES = N_ANGLES * N_FREQS


def gratings(n, size=20):
    """Noisy sinusoidal gratings, the class is (orientation, spatial frequency)."""
    label = torch.randint(0, CLASSES, (n,))
    theta = (label % N_ANGLES).float() / N_ANGLES * math.pi + 0.1 * torch.randn(n)
    freq = torch.where(label // N_ANGLES == 0, 0.8, 1.25) + 0.05 * torch.randn(n)
    phase = torch.rand(n) * 2 * math.pi
    r = torch.arange(size).float()
    yy, xx = torch.meshgrid(r, r, indexing="ij")
    wave = torch.sin(freq.view(-1, 1, 1) * (xx * theta.cos().view(-1, 1, 1) + yy * theta.sin().view(-1, 1, 1))
                     + phase.view(-1, 1, 1))
    return (wave + 0.8 * torch.randn(n, size, size)).unsqueeze(1), label


def conv_block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class TextureNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(conv_block(1, 8), conv_block(8, 16), nn.MaxPool2d(2),
                                      conv_block(16, 16), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, CLASSES))

    def forward(self, x):
        return self.head(self.backbone(x))

    def freeze_backbone(self):
        for p in self.backbone.parameters():
            p.requires_grad = False

    def unfreeze_backbone(self):
        self.backbone.requires_grad = True


def fit(model, loader, optimizer):
    model.train()
    losses = []
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


@torch.no_grad()
def score(model, loader):
    model.eval()
    loss = hits = n = 0
    for x, y in loader:
        out = model(x)
        loss += F.cross_entropy(out, y, reduction="sum").item()
        hits += (out.argmax(1) == y).sum().item()
        n += len(y)
    return loss / n, hits / n


train = DataLoader(TensorDataset(*gratings(1600)), batch_size=32, shuffle=True)
val = DataLoader(TensorDataset(*gratings(500)), batch_size=250)
model = TextureNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

WARMUP_EPOCHS, EPOCHS = 2, 14
model.freeze_backbone()          # settle the new head first
for epoch in range(EPOCHS):
    if epoch == WARMUP_EPOCHS:
        model.unfreeze_backbone()
        print("-- now training all layers")
    tl = fit(model, train, optimizer)
    vl, va = score(model, val)
    print(f"epoch {epoch:2d}  train {tl:.4f}  val {vl:.4f}  acc {va:.3f}")
