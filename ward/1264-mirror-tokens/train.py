"""Mirror a string of tokens: pre-norm encoder, linear warm-up, then a cosine down to zero."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

STEPS, WARMUP, PEAK = 220, 40, 4e-3
VOCAB, LENGTH, DIM = 16, 10, 32

torch.manual_seed(72)


class Mirror(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, DIM)
        self.pos = nn.Parameter(torch.randn(LENGTH, DIM) * 0.5)
        layer = nn.TransformerEncoderLayer(DIM, 4, 64, dropout=0.0, batch_first=True, norm_first=True, activation="gelu")
        self.enc = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(DIM), enable_nested_tensor=False)
        self.out = nn.Linear(DIM, VOCAB)

    def forward(self, s):
        return self.out(self.enc(self.tok(s) + self.pos))


def rate(step):
    if step < WARMUP:
        return (step + 1) / WARMUP
    return 0.5 * (1 + math.cos(math.pi * (step - WARMUP) / (STEPS - WARMUP)))


model = Mirror()
opt = torch.optim.AdamW(model.parameters(), lr=PEAK, betas=(0.9, 0.98), weight_decay=0.01)
sched = torch.optim.lr_scheduler.LambdaLR(opt, rate)
val = torch.randint(0, VOCAB, (300, LENGTH))
for step in range(STEPS):
    s = torch.randint(0, VOCAB, (48, LENGTH))
    loss = F.cross_entropy(model(s).transpose(1, 2), s.flip(1))
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    opt.step()
    sched.step()
    if (step + 1) % 20 == 0:
        model.eval()
        with torch.no_grad():
            out = model(val)
        model.train()
        print(f"{step + 1:4d}  lr {sched.get_last_lr()[0]:.2e}  loss {loss.item():.4f}  "
              f"val {F.cross_entropy(out.transpose(1, 2), val.flip(1)).item():.4f}  "
              f"right {(out.argmax(-1) == val.flip(1)).float().mean():.3f}")
