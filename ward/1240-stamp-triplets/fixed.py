"""Metric learning on small stamps: embeddings from all triplets of a batch and a soft margin (person re-id style)."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

parser = argparse.ArgumentParser()
parser.add_argument("--batch-p", type=int, default=8, help="classes per batch")
parser.add_argument("--batch-k", type=int, default=4, help="pictures per class")
parser.add_argument("--embedding-dim", type=int, default=24)
parser.add_argument("--learning-rate", type=float, default=2e-3)
parser.add_argument("--train-iterations", type=int, default=160)
parser.add_argument("--log-every", type=int, default=40)
args = parser.parse_args()


class Trunk(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 32, 3, padding=1)
        self.fc = nn.Linear(32 * 4, 64)
        self.emb = nn.Linear(64, dim)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.emb(F.relu(self.fc(x.flatten(1))))


def pk_batches(labels, p, k, rng):
    by_class = {c: np.flatnonzero(labels == c) for c in np.unique(labels)}
    while True:
        classes = rng.choice(list(by_class), p, replace=False)
        yield np.concatenate([rng.choice(by_class[c], k, replace=False) for c in classes])


def batch_all(emb, pids):
    dist = ((emb[:, None] - emb[None]).pow(2).sum(-1) + 1e-12).sqrt()
    same = pids[:, None] == pids[None]
    positive = same & ~torch.eye(len(pids), dtype=torch.bool)
    triplets = positive[:, :, None] & ~same[:, None, :]
    return F.softplus(dist[:, :, None] - dist[:, None, :])[triplets].mean(), dist


def rank1(model, query, query_y, gallery, gallery_y):
    model.eval()
    with torch.no_grad():
        d = torch.cdist(model(query), model(gallery))
    model.train()
    return (gallery_y[d.argmin(1)] == query_y).float().mean().item()


def main():
    torch.manual_seed(12)
    rng = np.random.default_rng(12)
    data = load_digits()
    images = torch.tensor(data.images, dtype=torch.float32)[:, None] / 16
    images = (images - images.mean()) / images.std()
    y = torch.tensor(data.target)
    order = torch.tensor(rng.permutation(len(y)))
    tr, te = order[:1300], order[1300:]
    model = Trunk(args.embedding_dim)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.learning_rate)
    batches = pk_batches(y[tr].numpy(), args.batch_p, args.batch_k, rng)
    for it in range(1, args.train_iterations + 1):
        idx = tr[next(batches)]
        loss, dist = batch_all(model(images[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % args.log_every == 0:
            r1 = rank1(model, images[te], y[te], images[tr], y[tr])
            print(f"iter {it:4d}  loss {loss.item():.4f}  mean dist {dist.mean().item():.4f}  rank-1 {r1:.3f}")


if __name__ == "__main__":
    main()
