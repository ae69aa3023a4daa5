import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier


class EmbeddingNet(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.PReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.PReLU(), nn.MaxPool2d(2),
        )
        self.fc = nn.Sequential(nn.Flatten(), nn.Linear(128, 64), nn.PReLU(), nn.Linear(64, dim))

    def forward(self, x):
        return self.fc(self.features(x))


class ContrastiveLoss(nn.Module):
    def __init__(self, margin):
        super().__init__()
        self.margin = margin

    def forward(self, a, b, same):
        d2 = (a - b).pow(2).sum(1)
        far = F.relu(self.margin - (d2 + 1e-9).sqrt()).pow(2)
        return 0.5 * (same * d2 + (1 - same) * far).mean()


def pair_batches(images, labels, n, rng):
    by_class = [np.flatnonzero(labels == c) for c in range(10)]
    order = rng.permutation(len(labels))
    for i in range(0, len(order) - n + 1, n):
        first = order[i:i + n]
        same = rng.random(n) < 0.5
        second = np.empty(n, dtype=int)
        for k, (f, s) in enumerate(zip(first, same)):
            c = labels[f] if s else rng.choice([c for c in range(10) if c != labels[f]])
            second[k] = rng.choice(by_class[c])
        yield images[first], images[second], torch.from_numpy(same.astype("float32"))


def main():
    p = argparse.ArgumentParser(description="siamese network on digit pairs")
    p.add_argument("--lr", type=float, default=1e-5)
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--margin", type=float, default=1.0)
    p.add_argument("--dim", type=int, default=4)
    p.add_argument("--seed", type=int, default=3)
    args = p.parse_args()

    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    d = load_digits()
    perm = rng.permutation(len(d.target))
    x = torch.tensor(d.images[perm], dtype=torch.float32)[:, None] / 16
    x = (x - 0.305) / 0.376
    y = d.target[perm]
    xtr, ytr, xte, yte = x[:1400], y[:1400], x[1400:], y[1400:]

    net = EmbeddingNet(args.dim)
    loss_fn = ContrastiveLoss(args.margin)
    opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)

    for epoch in range(args.epochs):
        net.train()
        tot, cnt = 0.0, 0
        for a, b, same in pair_batches(xtr, ytr, args.batch_size, rng):
            opt.zero_grad()
            loss = loss_fn(net(a), net(b), same)
            loss.backward()
            opt.step()
            tot, cnt = tot + loss.item(), cnt + 1
        if (epoch + 1) % 5 == 0 or epoch == 0:
            net.eval()
            with torch.no_grad():
                knn = KNeighborsClassifier(5).fit(net(xtr).numpy(), ytr)
                acc = knn.score(net(xte).numpy(), yte)
                val = np.mean([loss_fn(net(a), net(b), s).item() for a, b, s in pair_batches(xte, yte, 128, rng)])
            print(f"epoch {epoch + 1:3d}  contrastive {tot / cnt:.4f}  val {val:.4f}  5-nn accuracy {acc:.3f}")


if __name__ == "__main__":
    main()
