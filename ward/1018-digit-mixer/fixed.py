"""MLP-Mixer on the 8x8 digits: 16 patches of 2x2 pixels."""
import torch
from sklearn.datasets import load_digits
from torch import nn


class MixerBlock(nn.Module):
    def __init__(self, patches, dim):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.tokens = nn.Sequential(nn.Linear(patches, 2 * patches), nn.GELU(), nn.Linear(2 * patches, patches))
        self.channels = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm2(x))


class Mixer(nn.Module):
    def __init__(self, dim=32, depth=2):
        super().__init__()
        self.stem = nn.Conv2d(1, dim, kernel_size=2, stride=2)
        self.blocks = nn.Sequential(*[MixerBlock(16, dim) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, 10)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        return self.head(self.norm(self.blocks(x)).mean(1))


def get_data(seed=0):
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1)
    x = (x - 4.9) / 6.0
    y = torch.tensor(digits.target)
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(seed))
    return x[order[:1440]], y[order[:1440]], x[order[1440:]], y[order[1440:]]


def train(model, optimizer, x, y, x_val, y_val, epochs=4, batch_size=48):
    ce = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(x)).split(batch_size):
            optimizer.zero_grad()
            loss = ce(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            out = model(x_val)
        acc = (out.argmax(1) == y_val).float().mean().item()
        print(f"epoch {epoch + 1}/{epochs}  loss {total / len(x):.4f}  val loss {ce(out, y_val).item():.4f}  val acc {100 * acc:.1f} %")


torch.manual_seed(19)
mixer = Mixer()
optim = torch.optim.AdamW(mixer.parameters(), lr=3e-3, weight_decay=0.3)
train(mixer, optim, *get_data())
