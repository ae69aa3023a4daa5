"""The name of a chord from its notes, with a small post-norm attention stack."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)
NOTES, CHORD, NAMES, WIDTH = 24, 10, 20, 48


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm1 = nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))
        self.norm2 = nn.LayerNorm(width)

    def forward(self, x):
        x = self.norm1(x + self.attn(x, x, x, need_weights=False)[0])
        return self.norm2(x + self.feed(x))


class Chords(nn.Module):
    def __init__(self):
        super().__init__()
        self.note = nn.Embedding(NOTES, WIDTH)
        self.place = nn.Parameter(0.02 * torch.randn(CHORD, WIDTH))
        self.blocks = nn.ModuleList(Block(WIDTH, 4) for _ in range(8))
        self.name = nn.Linear(WIDTH, NAMES)

    def forward(self, notes):
        h = self.note(notes) + self.place
        for block in self.blocks:
            h = block(h)
        return self.name(h)


def chords(n):
    notes = torch.randint(0, NOTES, (n, CHORD))
    return notes, (notes.flip(1) + 3) % NAMES


model = Chords()
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-4, weight_decay=0.01)
PEAK, AFTER = 8e-3, 20
for step in range(180):
    notes, names = chords(16)
    loss = F.cross_entropy(model(notes).transpose(1, 2), names)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    optimizer.param_groups[0]["lr"] = PEAK * min(1.0, (step + 2) / AFTER)
    if step % 30 == 0:
        print(f"{step}: {loss.item():.3f}")
