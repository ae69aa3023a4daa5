import random

import torch
import torch.nn as nn
from torch.nn import functional as F

random.seed(1337)
torch.manual_seed(1337)
# ------------ hyperparameters
block_size, batch_size, n_embd, n_head, n_layer = 16, 24, 32, 4, 2
max_iters, eval_interval, eval_iters = 140, 20, 3
learning_rate = 3e-1
# ------------ corpus
WHO, DOES = ["cat", "dog", "girl", "old man", "robot"], ["sees", "likes", "follows", "paints"]
WHAT, WHERE = ["red ball", "river", "small house", "song", "tree"], ["in spring", "at night", "every day", "with joy"]


def sentence():
    return f"the {random.choice(WHO)} {random.choice(DOES)} the {random.choice(WHAT)} {random.choice(WHERE)} .".split()


words = [w for _ in range(2200) for w in sentence()]
vocab = sorted(set(words))
stoi = {w: i for i, w in enumerate(vocab)}
data = torch.tensor([stoi[w] for w in words])
n = int(0.9 * len(data))
splits = {"train": data[:n], "val": data[n:]}


def get_batch(split):
    d = splits[split]
    ix = torch.randint(len(d) - block_size, (batch_size,))
    return torch.stack([d[i:i + block_size] for i in ix]), torch.stack([d[i + 1:i + block_size + 1] for i in ix])


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.qkv, self.proj = nn.Linear(n_embd, 3 * n_embd, bias=False), nn.Linear(n_embd, n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, n_head, C // n_head).transpose(1, 2) for t in self.qkv(self.ln1(x)).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(B, T, C))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(len(vocab), n_embd), nn.Embedding(block_size, n_embd)
        self.blocks = nn.Sequential(*[Block() for _ in range(n_layer)])
        self.ln, self.head = nn.LayerNorm(n_embd), nn.Linear(n_embd, len(vocab))

    def forward(self, idx, targets):
        x = self.tok(idx) + self.pos.weight[:idx.shape[1]]
        logits = self.head(self.ln(self.blocks(x)))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


@torch.no_grad()
def estimate_loss():
    model.eval()
    out = {s: sum(model(*get_batch(s)).item() for _ in range(eval_iters)) / eval_iters for s in splits}
    model.train()
    return out


model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
for it in range(max_iters + 1):
    if it % eval_interval == 0:
        l = estimate_loss()
        print(f"step {it}: train loss {l['train']:.4f}, val loss {l['val']:.4f}")
    loss = model(*get_batch("train"))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
