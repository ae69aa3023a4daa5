"""Word-level language model on a toy grammar: small pre-norm transformer, tied embeddings, schedule by hand."""
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(12)
torch.manual_seed(12)

NOUN = {"s": ["dog", "child", "sailor", "robot", "queen"], "p": ["dogs", "children", "sailors", "robots", "queens"]}
VERB = {"s": ["sees", "likes", "follows", "paints"], "p": ["see", "like", "follow", "paint"]}
ADJ = ["old", "tiny", "happy", "green"]
PLACE = ["garden", "harbour", "kitchen", "tower"]


def noun_phrase(num):
    det = random.choice(["the", "a"] if num == "s" else ["the", "some"])
    return [det] + ([random.choice(ADJ)] if random.random() < 0.4 else []) + [random.choice(NOUN[num])]


def sentence():
    a, b = random.choice("sp"), random.choice("sp")
    words = noun_phrase(a) + [random.choice(VERB[a])] + noun_phrase(b)
    if random.random() < 0.5:
        words += ["in", "the", random.choice(PLACE)]
    return words + ["."]


def stream(n):
    out = []
    while len(out) < n:
        out += sentence()
    return out[:n]


words = stream(42000)
vocab = sorted(set(words))
stoi = {w: i for i, w in enumerate(vocab)}
ids = torch.tensor([stoi[w] for w in words])
train_ids, val_ids = ids[:36000], ids[36000:]
CTX, DIM, HEADS, STEPS, BATCH = 32, 48, 4, 500, 16


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv, self.proj = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.ff = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, HEADS, d // HEADS).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, d))
        return x + self.ff(self.n2(x))


class WordLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(len(vocab), DIM)
        self.pos = nn.Parameter(0.02 * torch.randn(CTX, DIM))
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.norm = nn.LayerNorm(DIM)
        nn.init.normal_(self.emb.weight, std=0.05)

    def forward(self, idx):
        x = self.emb(idx) + self.pos[:idx.size(1)]
        for blk in self.blocks:
            x = blk(x)
        return self.norm(x) @ self.emb.weight.T


def get_batch(src):
    st = torch.randint(len(src) - CTX - 1, (BATCH,))
    rows = torch.stack([src[s:s + CTX + 1] for s in st])
    return rows[:, :-1], rows[:, 1:]


def lr_at(step, peak=3e-3, warm=50):
    if step < warm:
        return peak * (step + 1) / warm
    return 0.05 * peak + 0.95 * peak * 0.5 * (1 + math.cos(math.pi * (step - warm) / (STEPS - warm)))


@torch.no_grad()
def perplexity(model):
    ls = []
    for _ in range(12):
        x, y = get_batch(val_ids)
        ls.append(F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item())
    return math.exp(sum(ls) / len(ls))


model = WordLM()
opt = torch.optim.AdamW(model.parameters(), lr=1.0, betas=(0.9, 0.98), weight_decay=0.01)
for step in range(STEPS):
    for group in opt.param_groups:
        group["lr"] = lr_at(step)
    x, y = get_batch(train_ids)
    logits = model(x)
    nll = F.cross_entropy(logits.flatten(0, 1), y.flatten())
    z = 1e-4 * torch.logsumexp(logits, -1).pow(2).mean()
    opt.zero_grad(set_to_none=True)
    (nll + z).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if (step + 1) % 50 == 0:
        print(f"{step + 1:4d} lr {lr_at(step):.5f} nll {nll.item():.3f} val ppl {perplexity(model):.2f}")

text = [stoi["."], stoi["the"]]
with torch.no_grad():
    for _ in range(40):
        p = F.softmax(model(torch.tensor([text[-CTX:]]))[0, -1], 0)
        text.append(torch.multinomial(p, 1).item())
print(" ".join(vocab[i] for i in text[1:]))
