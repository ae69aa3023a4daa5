import random
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
torch.manual_seed(0)

SUBJECTS = ["the cat", "my neighbour", "a tall sailor", "the old clock", "our teacher", "the red fox"]
VERBS = ["watches", "follows", "paints", "forgets", "carries", "hears"]
OBJECTS = ["the moon", "a small boat", "seven apples", "the long road", "an empty house", "two birds"]
ENDS = ["at night", "in the rain", "without a sound", "every morning", "by the river"]
text = "".join(f"{random.choice(SUBJECTS)} {random.choice(VERBS)} {random.choice(OBJECTS)} {random.choice(ENDS)}.\n" for _ in range(900))
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
split = int(0.9 * len(data))
train_data, val_data = data[:split], data[split:]
BLOCK, DIM, HEADS = 32, 48, 4


class CausalSelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.proj = nn.Linear(DIM, DIM)
        self.register_buffer("mask", torch.tril(torch.ones(BLOCK, BLOCK)))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, HEADS, C // HEADS).transpose(1, 2) for t in self.qkv(x).split(C, dim=2))
        att = (q @ k.transpose(-2, -1)) * (C // HEADS) ** -0.5
        att = att.masked_fill(self.mask[:T, :T] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.proj(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.attn = CausalSelfAttention()
        self.mlp = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class CharLM(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.tok = nn.Embedding(len(chars), DIM)
        self.pos = nn.Embedding(BLOCK, DIM)
        self.blocks = nn.Sequential(*[Block() for _ in range(layers)])
        self.ln, self.head = nn.LayerNorm(DIM), nn.Linear(DIM, len(chars))

    def forward(self, idx):
        x = self.tok(idx) + self.pos(torch.arange(idx.size(1)))
        return self.head(self.ln(self.blocks(x)))

    @torch.no_grad()
    def generate(self, idx, n):
        for _ in range(n):
            probs = F.softmax(self(idx[:, -BLOCK:])[:, -1], dim=-1)
            idx = torch.cat([idx, torch.multinomial(probs, 1)], dim=1)
        return idx


def get_batch(source, size=32):
    ix = torch.randint(len(source) - BLOCK - 1, (size,))
    return torch.stack([source[i:i + BLOCK] for i in ix]), torch.stack([source[i + 1:i + BLOCK + 1] for i in ix])


model = CharLM()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
for it in range(1, 351):
    x, y = get_batch(train_data)
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if it % 50 == 0:
        model.eval()
        with torch.no_grad():
            xv, yv = get_batch(val_data, 64)
            val = F.cross_entropy(model(xv).flatten(0, 1), yv.flatten()).item()
        model.train()
        print(f"iter {it} train {loss.item():.4f} val {val:.4f}")

model.eval()
sample = "".join(chars[i] for i in model.generate(train_data[:BLOCK].unsqueeze(0), 160)[0, BLOCK:])
known = set(text.replace(".", "").split())
words = sample.replace(".", "").split()[1:-1]
print(repr(sample))
print(f"known words in the sample: {sum(w in known for w in words)}/{len(words)}")
