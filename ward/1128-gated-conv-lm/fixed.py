"""Gated convolutional character model (GLU), trained on Python's own source text."""
import inspect
import random
import zipfile

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(3)
torch.manual_seed(3)
text = inspect.getsource(zipfile)[:60000]
itos = sorted(set(text))
stoi = {c: i for i, c in enumerate(itos)}
corpus = torch.tensor([stoi[c] for c in text])
train_part, valid_part = corpus[:50000], corpus[50000:]


class GLUConv(nn.Module):
    def __init__(self, dim, k=3, dilation=1):
        super().__init__()
        self.span = (k - 1) * dilation
        self.conv = nn.Conv1d(dim, 2 * dim, k, dilation=dilation)

    def forward(self, x):
        y = self.conv(F.pad(x, (self.span, 0)))
        return x + F.glu(y, dim=1)


class ConvLM(nn.Module):
    def __init__(self, vocab, dim=40):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.body = nn.Sequential(GLUConv(dim), GLUConv(dim, dilation=2), GLUConv(dim, dilation=4))
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.out(self.body(self.embed(ids).transpose(1, 2)).transpose(1, 2))


def windows(part, n, length=64):
    starts = random.choices(range(len(part) - length - 1), k=n)
    block = torch.stack([part[s:s + length + 1] for s in starts])
    return block[:, :-1], block[:, 1:]


@torch.no_grad()
def sample(model, prompt, n=60):
    ids = [stoi[c] for c in prompt]
    for _ in range(n):
        p = model(torch.tensor([ids[-64:]]))[0, -1].softmax(0)
        ids.append(int(torch.multinomial(p, 1)))
    return "".join(itos[i] for i in ids)


model = ConvLM(len(itos))
opt = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=1e-3)
for step in range(1, 201):
    x, y = windows(train_part, 16)
    loss = F.cross_entropy(model(x).transpose(1, 2), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 0:
        with torch.no_grad():
            vx, vy = windows(valid_part, 32)
            vloss = F.cross_entropy(model(vx).transpose(1, 2), vy).item()
            ends = F.cross_entropy(model(vx)[:, -1], vy[:, -1]).item()
        print(f"step {step:3d} train {loss.item():.3f} valid {vloss:.3f} (last position only {ends:.3f})")
print(repr(sample(model, "    def read(self")))
