import math

import torch
import torch.nn as nn

# Task: depth of nesting at the marked position of a bracket string, 0..4

torch.manual_seed(6)
LENGTH, CLASSES = 8, 5
STEPS, BATCH, LR = 100, 24, 1.2e-2


def strings(n, g):
    tok = torch.zeros(n, LENGTH, dtype=torch.long)
    depth = torch.zeros(n, dtype=torch.long)
    label = torch.zeros(n, dtype=torch.long)
    mark = torch.randint(LENGTH // 2, LENGTH, (n,), generator=g)
    for t in range(LENGTH):
        up = (torch.rand(n, generator=g) < 0.5) & (depth < CLASSES - 1) | (depth == 0)
        depth = torch.where(up, depth + 1, depth - 1)
        tok[:, t] = torch.where(up, 0, 1)
        label = torch.where(mark == t, depth, label)
    tok[torch.arange(n), mark] += 2
    return tok, label


class DepthReader(nn.Module):
    def __init__(self, d=32, heads=2, layers=5):
        super().__init__()
        self.tok = nn.Embedding(4, d)
        self.pos = nn.Parameter(torch.randn(LENGTH, d) * 0.3)
        block = nn.TransformerEncoderLayer(d, heads, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(block, layers)
        self.head = nn.Linear(d, CLASSES)

    def forward(self, t):
        h = self.encoder(self.tok(t) + self.pos)
        return self.head(h.mean(1))


def lr_lambda(step):
    progress = step / STEPS
    return min(1.0, (step + 1) / 30) * 0.5 * (1 + math.cos(math.pi * progress))


g = torch.Generator().manual_seed(7)
vt, vl = strings(250, g)
model = DepthReader()
opt = torch.optim.AdamW(model.parameters(), lr=LR, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lr_lambda)
avg = 0.0
for step in range(1, STEPS + 1):
    model.train()
    t, l = strings(BATCH, g)
    loss = nn.functional.cross_entropy(model(t), l)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    avg += loss.item()
    if step % 20 == 0:
        model.eval()
        with torch.no_grad():
            out = model(vt)
        print(f"step {step:3d} lr {sched.get_last_lr()[0]:.1e} loss {avg / 20:.4f} "
              f"val {nn.functional.cross_entropy(out, vl):.4f} acc {(out.argmax(1) == vl).float().mean():.3f}")
        avg = 0.0
