import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)

VOCAB, LENGTH, DIM, DEPTH = 12, 10, 48, 8
STEPS, BATCH = 400, 32
LR = 1e-2
WARMUP = 60


def sample(n, gen):
    x = torch.randint(0, VOCAB, (n, LENGTH), generator=gen)
    return x, x.flip(1)


class Block(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))
        self.norm1 = nn.LayerNorm(dim)
        self.norm2 = nn.LayerNorm(dim)

    def forward(self, x):
        x = self.norm1(x + self.attn(x, x, x, need_weights=False)[0])
        return self.norm2(x + self.ff(x))


class Reverser(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, DIM)
        self.pos = nn.Parameter(torch.randn(LENGTH, DIM))
        self.blocks = nn.ModuleList(Block(DIM) for _ in range(DEPTH))
        self.out = nn.Linear(DIM, VOCAB)

    def forward(self, x):
        h = self.tok(x) + self.pos
        for block in self.blocks:
            h = block(h)
        return self.out(h)


def lr_at(step):
    return min(1.0, (step + 1) / WARMUP) * max(0.02, 1 - step / STEPS)


gen = torch.Generator().manual_seed(1)
val_x, val_y = sample(300, torch.Generator().manual_seed(2))
model = Reverser()
opt = torch.optim.Adam(model.parameters(), lr=LR, betas=(0.9, 0.98))
sched = torch.optim.lr_scheduler.LambdaLR(opt, lr_at)
avg = 0.0
for step in range(1, STEPS + 1):
    x, y = sample(BATCH, gen)
    loss = F.cross_entropy(model(x).transpose(1, 2), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    avg += loss.item()
    if step % 50 == 0:
        model.eval()
        with torch.no_grad():
            out = model(val_x)
            val = F.cross_entropy(out.transpose(1, 2), val_y).item()
            acc = (out.argmax(-1) == val_y).float().mean().item()
        model.train()
        print(f"step {step:4d} train {avg / 50:.4f} val {val:.4f} token acc {acc:.3f}")
        avg = 0.0
