"""Character language model with a stack of dilated convolutions."""
import inspect
import logging
import statistics

import torch
import torch.nn as nn
import torch.nn.functional as F

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("wave")


class DilatedLayer(nn.Module):
    def __init__(self, channels, dilation, kernel=3):
        super().__init__()
        self.pad = (kernel - 1) * dilation // 2
        self.conv = nn.Conv1d(channels, 2 * channels, kernel, dilation=dilation)
        self.mix = nn.Conv1d(channels, channels, 1)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        a, b = self.conv(F.pad(x, (self.pad, self.pad))).chunk(2, 1)
        return x + self.drop(self.mix(torch.tanh(a) * torch.sigmoid(b)))


class WaveLM(nn.Module):
    def __init__(self, vocab, channels=40, dilations=(1, 2, 4, 8)):
        super().__init__()
        self.embed = nn.Embedding(vocab, channels)
        self.layers = nn.ModuleList(DilatedLayer(channels, d) for d in dilations)
        self.out = nn.Conv1d(channels, vocab, 1)

    def forward(self, ids):
        h = self.embed(ids).transpose(1, 2)
        for layer in self.layers:
            h = layer(h)
        return self.out(F.relu(h))


def load_text():
    text = inspect.getsource(statistics)
    alphabet = sorted(set(text))
    ids = torch.tensor([alphabet.index(c) for c in text])
    return ids, alphabet


def windows(ids, length):
    usable = (len(ids) - 1) // length * length
    return ids[:usable].view(-1, length), ids[1:usable + 1].view(-1, length)


def bits(loss):
    return loss / 0.6931


def main(epochs=14, length=64, batch=16):
    torch.manual_seed(31)
    ids, alphabet = load_text()
    x, y = windows(ids, length)
    held = torch.arange(len(x)) % 6 == 0
    xt, yt, xv, yv = x[~held], y[~held], x[held], y[held]
    model = WaveLM(len(alphabet))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.02)
    steps = epochs * ((len(xt) + batch - 1) // batch)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for rows in torch.randperm(len(xt)).split(batch):
            loss = F.cross_entropy(model(xt[rows]), yt[rows])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            total += loss.item() * len(rows)
        model.eval()
        with torch.no_grad():
            v = F.cross_entropy(model(xv), yv).item()
        log.info("epoch %d: train %.3f bits/char, val %.3f bits/char", epoch + 1, bits(total / len(xt)), bits(v))


if __name__ == "__main__":
    main()
