"""Reverse a short tape: a small encoder with warm-up and the usual clipping at 1.0."""
import torch
import torch.nn as nn
import torch.nn.functional as F

SYMBOLS, LENGTH, WIDTH = 8, 8, 32
STEPS, WARMUP = 150, 25


class Tape(nn.Module):
    def __init__(self):
        super().__init__()
        self.sym = nn.Embedding(SYMBOLS, WIDTH)
        self.pos = nn.Parameter(torch.randn(LENGTH, WIDTH))
        self.layer = nn.TransformerEncoderLayer(WIDTH, 4, dim_feedforward=64, dropout=0.0, batch_first=True, norm_first=True)
        self.norm = nn.LayerNorm(WIDTH)
        nn.init.normal_(self.sym.weight, std=0.4)

    def forward(self, x):
        return F.linear(self.norm(self.layer(self.sym(x) + self.pos)), self.sym.weight)        # tied weights


def tape(n):
    x = torch.randint(0, SYMBOLS, (n, LENGTH))
    return x, x.flip(1)


torch.manual_seed(29)
model = Tape()
optimizer = torch.optim.AdamW(model.parameters(), lr=6e-3, betas=(0.9, 0.98))
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min((s + 1) / WARMUP, max(0.02, (STEPS - s) / (STEPS - WARMUP))))
check_x, check_y = tape(200)
clipped = 0
for step in range(1, STEPS + 1):
    model.train()
    x, y = tape(40)
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    clipped += int(norm > 1.0)
    optimizer.step()
    scheduler.step()
    if step % 15 == 0:
        model.eval()
        with torch.no_grad():
            out = model(check_x)
        print(f"step {step:3d} loss {loss.item():.4f} norm {norm.item():.2f} clipped so far {clipped} check acc {(out.argmax(-1) == check_y).float().mean():.3f}")
