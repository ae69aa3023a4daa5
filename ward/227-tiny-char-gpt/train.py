import random
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(1)
torch.manual_seed(1)
WHO = ["the nurse", "a doctor", "the patient", "my sister", "an old man"]
DID = ["saw", "called", "washed", "found", "sent", "read"]
WHAT = ["the letter", "a red cup", "his notes", "the garden", "nobody", "two dogs"]
WHEN = ["today", "at noon", "last week", "again", "in the rain"]


def story(n):
    return "".join(" ".join(random.choice(w) for w in (WHO, DID, WHAT, WHEN)) + ". " for _ in range(n))


train_text, val_text = story(3000), story(400)
chars = sorted(set(train_text))
enc = lambda s: torch.tensor([chars.index(c) for c in s])
train_ids, val_ids = enc(train_text), enc(val_text)
CTX, D, HEADS = 32, 48, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.qkv, self.proj = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.mlp = nn.Sequential(nn.Linear(D, 2 * D), nn.GELU(), nn.Linear(2 * D, D))
        self.register_buffer("mask", torch.tril(torch.ones(CTX, CTX)).bool())

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (z.view(b, t, HEADS, -1).transpose(1, 2) for z in self.qkv(self.n1(x)).chunk(3, -1))
        att = (q @ k.transpose(-2, -1)) / (D // HEADS) ** 0.5
        att = att.masked_fill(~self.mask[:t, :t], float("-inf")).softmax(-1)
        x = x + self.proj((att @ v).transpose(1, 2).reshape(b, t, D))
        return x + self.mlp(self.n2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(len(chars), D), nn.Embedding(CTX, D)
        nn.init.normal_(self.tok.weight, std=0.1)
        nn.init.normal_(self.pos.weight, std=0.1)
        self.blocks = nn.Sequential(Block(), Block())
        self.norm, self.head = nn.LayerNorm(D), nn.Linear(D, len(chars))

    def forward(self, i):
        return self.head(self.norm(self.blocks(self.tok(i) + self.pos(torch.arange(i.shape[1])))))


def batch(ids, n):
    s = torch.randint(0, len(ids) - CTX - 1, (n,))
    w = ids[s[:, None] + torch.arange(CTX + 1)]
    return w[:, :-1], w[:, 1:]


model, STEPS = GPT(), 220
opt = torch.optim.AdamW(model.parameters(), lr=6e-3, weight_decay=0.01)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 25) * max(0.05, 1 - s / STEPS))
for step in range(1, STEPS + 1):
    x, y = batch(train_ids, 14)
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 3.0)
    opt.step()
    sched.step()
    if step % 22 == 0:
        model.eval()
        with torch.no_grad():
            x, y = batch(val_ids, 64)
            v = F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()
        model.train()
        print(f"step {step} train {loss.item():.4f} val {v:.4f}")
