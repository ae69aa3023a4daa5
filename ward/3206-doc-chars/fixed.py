"""Character model of Python source (the standard library) with dilated convolutions, WaveNet style."""
import argparse
import glob
import math
import os
import torch
import torch.nn as nn
import torch.nn.functional as F


def corpus(chunk=1500, limit=1_000_000):
    """Pieces of the library's source files, tabs and rare characters dropped."""
    text = ""
    for path in sorted(glob.glob(os.path.join(os.path.dirname(os.__file__), "*.py"))):
        source = open(path, encoding="utf-8", errors="ignore").read()
        text += "".join(c for c in source.lower() if c == "\n" or 32 <= ord(c) < 127)
        if len(text) > limit:
            break
    return [text[i:i + chunk] for i in range(0, len(text) - chunk, chunk)]


class GatedBlock(nn.Module):
    def __init__(self, ch, kernel, dilation):
        super().__init__()
        self.conv = nn.Conv1d(ch, 2 * ch, kernel, dilation=dilation, padding=dilation * (kernel - 1))
        self.mix = nn.Conv1d(ch, ch, 1)

    def forward(self, x):
        a, b = self.conv(x)[..., :x.size(2)].chunk(2, dim=1)
        return x + self.mix(torch.tanh(a) * torch.sigmoid(b))


class CharConv(nn.Module):
    def __init__(self, vocab, ch=56, kernel=3, dilations=(1, 2, 4, 8)):
        super().__init__()
        self.embed = nn.Embedding(vocab, ch)
        self.blocks = nn.Sequential(*[GatedBlock(ch, kernel, d) for d in dilations])
        self.out = nn.Sequential(nn.ReLU(), nn.Conv1d(ch, vocab, 1))

    def forward(self, idx):
        return self.out(self.blocks(self.embed(idx).transpose(1, 2)))     # (batch, vocab, time)


def get_batch(data, size, length):
    start = torch.randint(0, len(data) - length - 1, (size,))
    seq = torch.stack([data[s:s + length + 1] for s in start])
    return seq[:, :-1], seq[:, 1:]


@torch.no_grad()
def evaluate(model, data, length):
    model.eval()
    n = (len(data) - 1) // length
    x = data[:n * length].view(n, length)
    y = data[1:n * length + 1].view(n, length)
    return F.cross_entropy(model(x), y).item()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=700)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--length", type=int, default=96)
    p.add_argument("--lr", type=float, default=4e-3)
    a = p.parse_args()
    torch.manual_seed(8)
    docs = corpus()
    order = torch.randperm(len(docs), generator=torch.Generator().manual_seed(0)).tolist()
    cut = int(0.97 * len(docs))
    chars = sorted(set("".join(docs)))
    code = {c: i for i, c in enumerate(chars)}
    to_ids = lambda ids: torch.tensor([code[c] for c in "".join(docs[i] for i in ids)])
    train, valid = to_ids(order[:cut]), to_ids(order[cut:])
    print(len(train), "training characters,", len(valid), "held out, vocabulary", len(chars))

    model = CharConv(len(chars))
    opt = torch.optim.AdamW(model.parameters(), lr=a.lr, weight_decay=0.01)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=a.lr, total_steps=a.steps, pct_start=0.1)
    mean = 0.0
    for step in range(1, a.steps + 1):
        model.train()
        x, y = get_batch(train, a.batch, a.length)
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        mean += loss.item()
        if step % 100 == 0:
            v = evaluate(model, valid, a.length)
            print(f"step {step:4d} | train {mean / 100 / math.log(2):.3f} bits/char | valid {v / math.log(2):.3f} bits/char")
            mean = 0.0
