import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

VOCAB, LENGTH, DIM, HEADS, DEPTH = 12, 12, 64, 4, 12
BATCH, STEPS, LR = 32, 250, 4e-3


class Layer(nn.Module):
    """Encoder layer as in the 2017 paper."""

    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(DIM, HEADS, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(DIM, 2 * DIM), nn.ReLU(), nn.Linear(2 * DIM, DIM))
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)

    def forward(self, x):
        x = self.norm1(x + self.attn(x, x, x, need_weights=False)[0])
        return self.norm2(x + self.ff(x))


class Reverser(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, DIM)
        self.pos = nn.Parameter(torch.randn(LENGTH, DIM))
        self.layers = nn.Sequential(*[Layer() for _ in range(DEPTH)])
        self.out = nn.Linear(DIM, VOCAB)

    def forward(self, x):
        return self.out(self.layers(self.tok(x) + self.pos))


def batch(n, gen):
    x = torch.randint(VOCAB, (n, LENGTH), generator=gen)
    return x, x.flip(1)


train_gen = torch.Generator().manual_seed(1)
val_x, val_y = batch(512, torch.Generator().manual_seed(2))
model = Reverser()
optimizer = torch.optim.Adam(model.parameters(), lr=LR)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min((s + 1) / 40, 1 - s / STEPS))

total = 0.0
for step in range(1, STEPS + 1):
    model.train()
    x, y = batch(BATCH, train_gen)
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    total += loss.item()
    if step % 50 == 0:
        model.eval()
        with torch.no_grad():
            logits = model(val_x)
            val = F.cross_entropy(logits.flatten(0, 1), val_y.flatten())
            acc = (logits.argmax(-1) == val_y).float().mean()
        print(f"step {step:4d}  train {total / 50:.4f}  val {val:.4f}  token acc {acc:.3f}")
        total = 0.0
