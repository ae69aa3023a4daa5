# small transformer that tells whether a bracket word is balanced
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
PAD, OPEN, CLOSE = 0, 1, 2
MAXLEN = 12


def word():
    n = int(torch.randint(2, MAXLEN // 2 + 1, (1,)))
    depth, out = 0, []
    for k in range(2 * n):
        left = 2 * n - k
        go_up = depth == 0 or (depth < left and torch.rand(1).item() < 0.5)
        out.append(OPEN if go_up else CLOSE)
        depth += 1 if go_up else -1
    label = 1
    if torch.rand(1).item() < 0.5:
        label = 0
        k = int(torch.randint(2 * n, (1,)))
        out[k] = OPEN if out[k] == CLOSE else CLOSE
    return out + [PAD] * (MAXLEN - 2 * n), label


def make(n):
    rows, labels = zip(*[word() for _ in range(n)])
    return torch.tensor(rows), torch.tensor(labels)


class Attention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)

    def forward(self, x, keep):
        n, t, d = x.shape
        q, k, v = (z.view(n, t, self.heads, -1).transpose(1, 2) for z in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-2, -1) / math.sqrt(d / self.heads)
        scores = scores.masked_fill(~keep[:, None, None, :], float("-inf"))
        y = torch.softmax(scores, dim=-1) @ v
        return self.out(y.transpose(1, 2).reshape(n, t, d))


class Classifier(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.emb = nn.Embedding(3, d)
        self.pos = nn.Parameter(0.1 * torch.randn(MAXLEN, d))
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.att = Attention(d, 4)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
        self.head = nn.Linear(d, 2)

    def forward(self, tokens):
        keep = tokens != PAD
        x = self.emb(tokens) + self.pos
        x = x + self.att(self.norm1(x), keep)
        x = x + self.ff(self.norm2(x))
        x = (x * keep[..., None]).sum(1) / keep.sum(1, keepdim=True)
        return self.head(x)


xs, ys = make(1500)
xv, yv = make(300)
model = Classifier()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for epoch in range(6):
    model.train()
    tot = 0.0
    for idx in torch.randperm(len(xs)).split(50):
        loss = F.cross_entropy(model(xs[idx]), ys[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        acc = (model(xv).argmax(1) == yv).float().mean().item()
    print(f"epoch {epoch} loss {tot / len(xs):.4f} val acc {acc:.3f}")
