import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LambdaLR

torch.manual_seed(23)
VOCAB, LENGTH, BATCH, STEPS = 12, 16, 32, 160


def make_tunes(n):
    """Each tune walks a scale: the interval between notes is set by the first two notes."""
    first = torch.randint(0, VOCAB, (n,))
    step = torch.randint(1, 5, (n,))
    tune = (first[:, None] + step[:, None] * torch.arange(LENGTH)) % VOCAB
    swap = torch.rand(n, LENGTH) < 0.03
    return torch.where(swap, torch.randint(0, VOCAB, (n, LENGTH)), tune)


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x, mask):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class TuneModel(nn.Module):
    def __init__(self, d=32, heads=2, depth=1):
        super().__init__()
        self.note = nn.Embedding(VOCAB, d)
        self.place = nn.Embedding(LENGTH, d)
        self.blocks = nn.ModuleList([Block(d, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(d)
        self.out = nn.Linear(d, VOCAB)

    def forward(self, notes):
        t = notes.size(1)
        x = self.note(notes) + self.place(torch.arange(t))
        mask = torch.triu(torch.ones(t, t, dtype=torch.bool), diagonal=1)
        for block in self.blocks:
            x = block(x, mask)
        return self.out(self.norm(x))


def next_note_loss(model, tunes):
    logits = model(tunes[:, :-1])
    return nn.functional.cross_entropy(logits.reshape(-1, VOCAB), tunes[:, 1:].reshape(-1))


model = TuneModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
warmup = 30
scheduler = LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / warmup))
held_out = make_tunes(120)

for step in range(1, STEPS + 1):
    model.train()
    loss = next_note_loss(model, make_tunes(BATCH))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        model.eval()
        with torch.no_grad():
            val = next_note_loss(model, held_out)
        print(f"step {step:4d} | loss {loss.item():.3f} | held-out {val.item():.3f}")
