"""Tag the tokens of short part numbers (letters, digits, separators) with their field."""
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Settings:
    vocab: int = 24
    tags: int = 4
    longest: int = 14
    dim: int = 32
    heads: int = 4
    batch: int = 48
    steps: int = 200
    lr: float = 3e-3


def sample(n, s, g):
    """Sequences of 8..14 tokens; a token's field depends on its kind and on the separators seen before it."""
    x = torch.randint(2, s.vocab, (n, s.longest), generator=g)
    separator = torch.rand(n, s.longest, generator=g) < 0.15
    x[separator] = 1
    fields = (separator.cumsum(1) > 0).long() * 2 + (x > s.vocab // 2).long()
    length = torch.randint(8, s.longest + 1, (n, 1), generator=g)
    padding = torch.arange(s.longest) >= length
    x[padding] = 0
    fields[padding] = -1
    return x, fields


class Block(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(s.dim), nn.LayerNorm(s.dim)
        self.attend = nn.MultiheadAttention(s.dim, s.heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(s.dim, 2 * s.dim), nn.GELU(), nn.Linear(2 * s.dim, s.dim))

    def forward(self, h, padding):
        a = self.norm1(h)
        h = h + self.attend(a, a, a, key_padding_mask=padding, need_weights=False)[0]
        return h + self.mlp(self.norm2(h))


class Tagger(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.token = nn.Embedding(s.vocab, s.dim)
        self.place = nn.Embedding(s.longest, s.dim)
        self.block = Block(s)
        self.head = nn.Sequential(nn.LayerNorm(s.dim), nn.Linear(s.dim, s.tags))

    def forward(self, x):
        h = self.token(x) + self.place(torch.arange(x.shape[1]))
        return self.head(self.block(h, x == 0))


def loss_of(logits, fields):
    return F.cross_entropy(logits.transpose(1, 2), fields)


def train(s):
    torch.manual_seed(77)
    g = torch.Generator().manual_seed(77)
    model = Tagger(s)
    optimizer = torch.optim.AdamW(model.parameters(), lr=s.lr)
    x_val, f_val = sample(400, s, g)
    for step in range(1, s.steps + 1):
        x, f = sample(s.batch, s, g)
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model(x), f)
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            model.eval()
            with torch.no_grad():
                out = model(x_val)
            real = f_val >= 0
            acc = (out.argmax(-1) == f_val)[real].float().mean()
            print(f"step {step} train {loss.item():.4f} val {loss_of(out, f_val).item():.4f} acc {acc:.3f}")
            model.train()


if __name__ == "__main__":
    train(Settings())
