"""Tags for short posts: a bag of words model, judged by the share of posts whose best tag is right."""

import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

WORDS, TAGS = 600, 900


class Posts(Dataset):
    def __init__(self, count, seed):
        rng = np.random.default_rng(seed)
        topics = np.random.default_rng(0).dirichlet(np.full(WORDS, 0.12), TAGS)
        self.tag = rng.integers(0, TAGS, count)
        self.words = np.stack([rng.multinomial(24, topics[t]) for t in self.tag]).astype(np.float32)

    def __len__(self):
        return len(self.tag)

    def __getitem__(self, i):
        return np.log1p(self.words[i]), int(self.tag[i])


class TopK:
    """Share of samples whose tag is among the k best scores."""

    def __init__(self, k):
        self.k = k
        self.reset()

    def reset(self):
        self.scores, self.tags = [], []

    def update(self, scores, tags):
        self.scores.append(scores.detach())
        self.tags.append(tags)

    def compute(self):
        best = torch.cat(self.scores).topk(self.k, dim=1).indices
        return (best == torch.cat(self.tags)[:, None]).any(1).float().mean().item()


def tagger(width):
    return nn.Sequential(nn.Linear(WORDS, width), nn.ReLU(), nn.Dropout(0.2), nn.Linear(width, TAGS))


def fit(args):
    train = DataLoader(Posts(4800, 1), args.batch, shuffle=True)
    held_out = DataLoader(Posts(900, 2), 300)
    model = tagger(args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    criterion = nn.CrossEntropyLoss()
    seen = TopK(5)
    for epoch in range(args.epochs):
        model.train()
        for words, tag in train:
            scores = model(words)
            loss = criterion(scores, tag)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen.update(scores, tag)
        model.eval()
        right = TopK(5)
        with torch.no_grad():
            losses = []
            for words, tag in held_out:
                scores = model(words)
                losses.append(criterion(scores, tag).item())
                right.update(scores, tag)
        print(f"{epoch:2d} train loss {loss.item():.3f} top-5 {seen.compute():.3f} | held out {np.mean(losses):.3f} top-5 {right.compute():.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch", type=int, default=48)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--lr", type=float, default=2e-3)
    torch.manual_seed(8)
    fit(parser.parse_args())
