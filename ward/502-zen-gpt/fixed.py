import codecs
import contextlib
import inspect
import io
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

with contextlib.redirect_stdout(io.StringIO()):
    import this


@dataclass
class GPTConfig:
    vocab: int = 0
    block: int = 24
    dim: int = 64
    heads: int = 4
    layers: int = 2
    batch: int = 16
    lr: float = 6e-4
    steps: int = 150


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads = c.heads
        self.n1, self.n2 = nn.LayerNorm(c.dim), nn.LayerNorm(c.dim)
        self.qkv = nn.Linear(c.dim, 3 * c.dim)
        self.proj = nn.Linear(c.dim, c.dim)
        self.mlp = nn.Sequential(nn.Linear(c.dim, 4 * c.dim), nn.GELU(), nn.Linear(4 * c.dim, c.dim))

    def forward(self, x):
        B, T, D = x.shape
        q, k, v = (t.view(B, T, self.heads, -1).transpose(1, 2) for t in self.qkv(self.n1(x)).chunk(3, dim=-1))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(B, T, D))
        return x + self.mlp(self.n2(x))


class TinyGPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.tok = nn.Embedding(c.vocab, c.dim)
        nn.init.normal_(self.tok.weight, std=0.02)
        self.pos = nn.Parameter(torch.randn(c.block, c.dim) * 0.02)
        self.blocks = nn.Sequential(*[Block(c) for _ in range(c.layers)])
        self.norm = nn.LayerNorm(c.dim)
        self.head = nn.Linear(c.dim, c.vocab, bias=False)
        self.head.weight = self.tok.weight                    # weight tying

    def forward(self, idx, targets):
        x = self.tok(idx) + self.pos[: idx.shape[1]]
        logits = self.head(self.norm(self.blocks(x)))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


torch.manual_seed(5)
text = codecs.decode(this.s, "rot13") + inspect.getdoc(codecs) + inspect.getsource(codecs)[:12000] + inspect.getsource(contextlib)[:14000]
chars = sorted(set(text))
data = torch.tensor([chars.index(ch) for ch in text])
train, val = data[: int(0.9 * len(data))], data[int(0.9 * len(data)):]
cfg = GPTConfig(vocab=len(chars))


def batch(source):
    at = torch.randint(len(source) - cfg.block - 1, (cfg.batch,))
    w = torch.stack([source[i: i + cfg.block + 1] for i in at])
    return w[:, :-1], w[:, 1:]


model = TinyGPT(cfg)
opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=0.01)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 25))
for step in range(cfg.steps + 1):
    loss = model(*batch(train))
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    opt.step()
    sched.step()
    if step % 25 == 0:
        with torch.no_grad():
            v = sum(model(*batch(val)).item() for _ in range(4)) / 4
        print(f"step {step:3d} | train {loss.item():.3f} | val {v:.3f}")
