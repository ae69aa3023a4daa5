"""Patches of satellite scenes, cut on demand and kept; a deque of recent outputs; a hook for the length of one look."""

from collections import deque
from functools import lru_cache

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(14)
SCENES = torch.randn(24, 6, 96, 96)
SCENES[12:] += 0.25 * torch.sin(torch.arange(96) / 3)


@lru_cache(maxsize=None)
def patch(scene, row, column, size=32):
    """A smoothed patch; there are 24 x 9 of them."""
    cut = SCENES[scene, :, row:row + size, column:column + size]
    return nn.functional.avg_pool2d(cut[None], 3, stride=1, padding=1)[0].repeat_interleave(2, 0).clone()


class Patches(Dataset):
    def __init__(self, scenes):
        self.index = [(s, r, c) for s in scenes for r in (0, 32, 64) for c in (0, 32, 64)]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, i):
        scene, row, column = self.index[i]
        return patch(scene, row, column), int(scene >= 12)


model = nn.Sequential(
    nn.Conv2d(12, 32, 5, stride=2, padding=2), nn.ReLU(), nn.Conv2d(32, 32, 5, stride=2, padding=2), nn.ReLU(),
    nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 2),
)
train = DataLoader(Patches([s for s in range(24) if s % 4]), batch_size=18, shuffle=True)
valid = DataLoader(Patches(range(0, 24, 4)), batch_size=27)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
recent = deque(maxlen=50)
history = []


def fired_share():
    """How many units of the first layer fire at all; the hook is taken off again."""
    maps = []
    handle = model[1].register_forward_hook(lambda module, inputs, output: maps.append(output))
    model.eval()
    with torch.no_grad():
        losses = [nn.functional.cross_entropy(model(x), y).item() for x, y in valid]
    handle.remove()
    return sum(losses) / len(losses), (torch.cat(maps).amax((0, 2, 3)) > 0).float().mean().item()


for epoch in range(25):
    model.train()
    outputs = []
    for x, y in train:
        out = model(x)
        loss = nn.functional.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recent.append(x)
        outputs.append((out.detach(), y))
        history.append(loss.item())
    right = (torch.cat([o for o, _ in outputs]).argmax(1) == torch.cat([y for _, y in outputs])).float().mean().item()
    valid_loss, fired = fired_share()
    if epoch % 4 == 0:
        print(f"epoch {epoch:2d} loss {sum(history[-9:]) / 9:.4f} right {right:.3f} valid {valid_loss:.4f} units that fire {fired:.2f} inputs {torch.stack([r.std() for r in recent]).mean():.3f}")
