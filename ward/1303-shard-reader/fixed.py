import argparse
import random
import zlib

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

parser = argparse.ArgumentParser(description="gesture recognition from accelerometer tracks")
parser.add_argument("--epochs", type=int, default=8)
parser.add_argument("--batch-size", type=int, default=50)
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--dim", type=int, default=32)
parser.add_argument("--seed", type=int, default=12)
args = parser.parse_args([])

GESTURES = ["circle", "left", "right", "shake", "tap", "up"]


def record(name, rnd):
    """One track: 32 steps of (ax, ay, az)."""
    g = torch.Generator().manual_seed(rnd.randrange(1 << 30))
    t = torch.arange(32) / 32
    phase = rnd.gauss(0, 0.4)
    s, c = torch.sin(6.28 * t + phase), torch.cos(6.28 * t + phase)
    zero = torch.zeros(32)
    x = {"circle": [s, c, zero], "left": [-s, zero, 0.3 * c], "right": [s, zero, 0.3 * c], "shake": [torch.sin(25 * t + phase), zero, zero],
         "tap": [zero, zero, torch.exp(-((t - 0.5 - phase / 6) * 20) ** 2) * 2], "up": [zero, 0.2 * c, s]}[name]
    return torch.stack(x, 1) * (1 + 0.2 * rnd.gauss(0, 1)) + 0.45 * torch.randn(32, 3, generator=g)


def write_shards(split, per_class):
    shards = {}
    for name in GESTURES:
        rnd = random.Random(zlib.crc32(f"{split}/{name}".encode()))
        shards[f"{split}/{name}.bin"] = [record(name, rnd) for _ in range(per_class)]
    return shards


class ShardReader(IterableDataset):
    def __init__(self, shards):
        self.index = [(path, k) for path in sorted(shards) for k in range(len(shards[path]))]
        self.shards = shards

    def __len__(self):
        return len(self.index)

    def __iter__(self):
        todo = list(self.index)
        random.shuffle(todo)
        for path, k in todo:
            yield self.shards[path][k], GESTURES.index(path.split("/")[1][:-4])


class TrackTransformer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.inp = nn.Linear(3, dim)
        self.pos = nn.Parameter(torch.randn(1, 32, dim) * 0.1)
        layer = nn.TransformerEncoderLayer(dim, 4, dim * 2, dropout=0.1, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, len(GESTURES)))

    def forward(self, x):
        return self.out(self.enc(self.inp(x) + self.pos).mean(1))


random.seed(args.seed)
torch.manual_seed(args.seed)
train_dl = DataLoader(ShardReader(write_shards("train", 300)), batch_size=args.batch_size)
dev_dl = DataLoader(ShardReader(write_shards("dev", 80)), batch_size=120)
model = TrackTransformer(args.dim)
opt = torch.optim.AdamW(model.parameters(), lr=args.lr)

for epoch in range(args.epochs):
    model.train()
    tot = 0.0
    for x, y in train_dl:
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(y)
    model.eval()
    hits = dev = 0.0
    with torch.no_grad():
        for x, y in dev_dl:
            logits = model(x)
            dev += nn.functional.cross_entropy(logits, y, reduction="sum").item()
            hits += (logits.argmax(-1) == y).sum().item()
    print(f"epoch {epoch} train {tot / len(train_dl.dataset):.4f} dev {dev / len(dev_dl.dataset):.4f} dev acc {hits / len(dev_dl.dataset):.3f}")
