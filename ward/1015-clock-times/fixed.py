"""Translate spoken clock times ('ten to four') into digits with an encoder-only transformer, original (post-norm) layout."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)

UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
TENS = {20: "twenty", 30: "thirty", 40: "forty", 50: "fifty"}
VOCAB = ["<pad>", "past", "to", "noon", "night", "half", "quarter"] + UNITS + list(TENS.values())
WORD = {w: i for i, w in enumerate(VOCAB)}
LENGTH = 6


def spell(n):
    return [UNITS[n]] if n < 20 else [TENS[n - n % 10]] + ([UNITS[n % 10]] if n % 10 else [])


def phrase(hour, minute):
    if minute == 0:
        words = spell(hour)
    elif minute == 30:
        words = ["half", "past"] + spell(hour)
    elif minute < 30:
        words = (["quarter"] if minute == 15 else spell(minute)) + ["past"] + spell(hour)
    else:
        rest = 60 - minute
        words = (["quarter"] if rest == 15 else spell(rest)) + ["to"] + spell((hour + 1) % 24)
    ids = [WORD[w] for w in words]
    return ids + [0] * (LENGTH - len(ids))


ALL = [(h, m) for h in range(24) for m in range(60)]
X = torch.tensor([phrase(h, m) for h, m in ALL])
Y = torch.tensor([[h // 10, h % 10, m // 10, m % 10] for h, m in ALL])
order = torch.randperm(len(ALL))
train_idx, val_idx = order[:1240], order[1240:]


class ClockReader(nn.Module):
    def __init__(self, dim=48, heads=4, depth=6):
        super().__init__()
        self.scale = math.sqrt(dim)
        self.embed = nn.Embedding(len(VOCAB), dim)
        nn.init.normal_(self.embed.weight, std=dim ** -0.5)
        self.position = nn.Parameter(torch.randn(LENGTH, dim) * 0.5)
        block = nn.TransformerEncoderLayer(dim, heads, dim_feedforward=96, dropout=0.0, batch_first=True)
        self.blocks = nn.TransformerEncoder(block, depth, enable_nested_tensor=False)
        self.digits = nn.Linear(LENGTH * dim, 4 * 10)

    def forward(self, x):
        h = self.blocks(self.embed(x) * self.scale + self.position)
        return self.digits(h.flatten(1)).view(-1, 4, 10)


def lr_at(step, total):
    """Linear warm-up, then cosine down to a tenth."""
    return min(1.0, (step + 1) / (0.2 * total)) * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * step / total)))


STEPS, BATCH = 150, 24
model = ClockReader()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, betas=(0.9, 0.98))
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: lr_at(s, STEPS))

running = []
for step in range(1, STEPS + 1):
    idx = train_idx[torch.randint(len(train_idx), (BATCH,))]
    loss = F.cross_entropy(model(X[idx]).flatten(0, 1), Y[idx].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    running.append(loss.item())
    if step % 30 == 0:
        model.eval()
        with torch.no_grad():
            out = model(X[val_idx])
            val = F.cross_entropy(out.flatten(0, 1), Y[val_idx].flatten()).item()
            exact = (out.argmax(-1) == Y[val_idx]).all(1).float().mean().item()
        model.train()
        print(f"step {step:3d}  loss {sum(running) / len(running):.4f}  val {val:.4f}  exact {exact:.3f}")
        running = []
