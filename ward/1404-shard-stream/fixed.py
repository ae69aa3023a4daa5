"""Stream short radio signals from shards and classify the modulation (1-D conv net)."""
import argparse

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

KINDS = ["tone", "am", "fm", "chirp", "psk", "noise"]


def synth(kind, rng, n=96):
    t = np.arange(n)
    f, ph = rng.uniform(0.08, 0.16), rng.uniform(0, 2 * np.pi)
    if kind == "tone":
        s = np.sin(2 * np.pi * f * t + ph)
    elif kind == "am":
        s = (1 + 0.9 * np.sin(2 * np.pi * t / rng.uniform(20, 40))) * np.sin(2 * np.pi * f * t + ph) * 0.8
    elif kind == "fm":
        s = np.sin(2 * np.pi * f * t + 3 * np.sin(2 * np.pi * t / rng.uniform(24, 40)) + ph)
    elif kind == "chirp":
        s = np.sin(2 * np.pi * (0.4 * f + f * t / n) * t + ph)
    elif kind == "psk":
        s = np.sin(2 * np.pi * f * t + ph + np.pi * np.repeat(rng.integers(0, 2, n // 12), 12))
    else:
        s = rng.normal(0, 0.8, n)
    s = s * rng.uniform(0.7, 1.3) + rng.normal(0, 0.25, n)
    return s.astype("float32")


def write_shards(per_kind, seed):
    """shard 0 .. shard k, as the recorder writes them (one session after another)"""
    rng = np.random.default_rng(seed)
    shards = []
    for k, kind in enumerate(KINDS):
        for _ in range(2):
            shards.append([(synth(kind, rng), k) for _ in range(per_kind // 2)])
    return shards


class ShardStream(IterableDataset):
    def __init__(self, shards, training=False, seed=0):
        self.shards = shards
        self.training = training
        self.rng = np.random.default_rng(seed)

    def __iter__(self):
        records = [r for shard in self.shards for r in shard]
        if self.training:
            records = [records[i] for i in self.rng.permutation(len(records))]
        for signal, label in records:
            if self.training:  # random roll and sign flip
                signal = np.roll(signal, self.rng.integers(-4, 5)) * self.rng.choice([-1, 1]).astype("float32")
            yield torch.from_numpy(np.ascontiguousarray(signal)), label


class ConvNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.c1 = nn.Conv1d(1, 16, 9, padding=4)
        self.c2 = nn.Conv1d(16, 32, 7, padding=3)
        self.c3 = nn.Conv1d(32, 32, 5, padding=2)
        self.fc = nn.Linear(64, classes)

    def forward(self, x):
        x = F.max_pool1d(F.relu(self.c1(x.unsqueeze(1))), 2)
        x = F.max_pool1d(F.relu(self.c2(x)), 2)
        x = F.relu(self.c3(x))
        return self.fc(torch.cat([x.mean(2), x.amax(2)], 1))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--lr", type=float, default=1e-3)
    args = p.parse_args()
    torch.manual_seed(0)

    train = DataLoader(ShardStream(write_shards(360, seed=1), training=True), batch_size=args.batch_size)
    val = DataLoader(ShardStream(write_shards(100, seed=2)), batch_size=200)
    net = ConvNet(len(KINDS))
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        net.train()
        losses = []
        for x, y in train:
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            losses.append(loss.item())
        net.eval()
        with torch.no_grad():
            outs = [(net(x), y) for x, y in val]
        logits, y = torch.cat([o for o, _ in outs]), torch.cat([t for _, t in outs])
        print(f"epoch {epoch}: train {np.mean(losses):.4f} val {F.cross_entropy(logits, y).item():.4f} "
              f"acc {(logits.argmax(1) == y).float().mean().item():.3f}")


main()
