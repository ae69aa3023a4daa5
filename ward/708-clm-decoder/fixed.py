import argparse as _src
import inspect

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1337)

text = inspect.getsource(_src)
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
n = int(0.9 * len(data))
train_data, val_data = data[:n], data[n:]
vocab, block, batch = len(chars), 24, 16
print("chars", len(data), "vocab", vocab)


def get_batch(split):
    d = train_data if split == "train" else val_data
    ix = torch.randint(len(d) - block - 1, (batch,))
    x = torch.stack([d[i:i + block] for i in ix])
    y = torch.stack([d[i + 1:i + 1 + block] for i in ix])
    return x, y


class DecoderLM(nn.Module):
    def __init__(self, dim=32, heads=2, layers=2, is_decoder=True):
        super().__init__()
        self.is_decoder = is_decoder
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(block, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab)
        self.register_buffer("causal", nn.Transformer.generate_square_subsequent_mask(block))

    def make_mask(self, t, pad):
        if pad is not None:
            return self.causal[:t, :t] + pad
        return self.causal[:t, :t]

    def forward(self, idx, pad=None):
        t = idx.size(1)
        h = self.tok(idx) + self.pos(torch.arange(t))
        h = self.blocks(h, mask=self.make_mask(t, pad))
        return self.head(self.norm(h))


@torch.no_grad()
def next_char_accuracy(model, n=150):
    """what generation sees: only the prefix, predict the char behind it"""
    model.eval()
    ix = torch.randint(len(val_data) - block - 1, (n,))
    x = torch.stack([val_data[i:i + block] for i in ix])
    y = torch.stack([val_data[i + block] for i in ix])
    acc = (model(x)[:, -1].argmax(-1) == y).float().mean().item()
    model.train()
    return acc


@torch.no_grad()
def sample(model, prompt="def ", n=24):
    ids = [stoi[c] for c in prompt]
    for _ in range(n):
        x = torch.tensor([ids[-block:]])
        ids.append(model(x)[0, -1].argmax().item())
    return "".join(chars[i] for i in ids)


model = DecoderLM()
optimizer = torch.optim.AdamW(model.parameters(), lr=6e-3)
for it in range(160):
    x, y = get_batch("train")
    logits = model(x)
    loss = F.cross_entropy(logits.view(-1, vocab), y.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 40 == 0 or it == 159:
        with torch.no_grad():
            model.eval()
            xv, yv = get_batch("val")
            vl = F.cross_entropy(model(xv).view(-1, vocab), yv.view(-1))
        print(f"iter {it:3d} train {loss.item():.3f} val {vl.item():.3f} next-char acc {next_char_accuracy(model):.3f}")
print(repr(sample(model)))
