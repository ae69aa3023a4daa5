"""Classify bags of bird-call syllables by attention pooling; recordings have up to ten syllables, shorter ones are padded."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
N, LONGEST, KINDS = 960, 10, 4
labels = torch.randint(KINDS, (N,))
centres = torch.randn(KINDS, 8)
found = torch.poisson(torch.full((N,), 5.5)).long().clamp(max=LONGEST)
syllables = centres[labels][:, None] + 0.8 * torch.randn(N, LONGEST, 8)
padding = torch.arange(LONGEST)[None] >= found[:, None]
syllables[padding] = 0.0


class AttentionPool(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.heads = heads
        self.query = nn.Parameter(0.1 * torch.randn(heads, width // heads))
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)

    def forward(self, x, padding):
        b, t, w = x.shape
        key = self.key(x).view(b, t, self.heads, -1)
        value = self.value(x).view(b, t, self.heads, -1)
        scores = torch.einsum("hd,bthd->bht", self.query, key)
        scores = scores.masked_fill(padding[:, None], float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        return torch.einsum("bht,bthd->bhd", weights, value).reshape(b, w)


class BagClassifier(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.enter = nn.Sequential(nn.Linear(8, width), nn.GELU(), nn.LayerNorm(width))
        self.pool = AttentionPool(width)
        self.leave = nn.Linear(width, KINDS)

    def forward(self, x, padding):
        return self.leave(self.pool(self.enter(x), padding))


model = BagClassifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
train = DataLoader(TensorDataset(syllables[:800], padding[:800], labels[:800]), batch_size=32, shuffle=True)
for epoch in range(4):
    total = 0.0
    for x, pad, y in train:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(model(x, pad), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        right = (model(syllables[800:], padding[800:]).argmax(1) == labels[800:]).float().mean().item()
    print(f"epoch {epoch}: train loss {total / len(train):.3f}, held-out accuracy {right:.3f}")
