# Metric learning on sklearn digits: embed pictures so that same-digit pairs are close.
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

SEED = 21
EMB_DIM = 16
MARGIN = 1.0
EPOCHS = 12


class TripletSampler:
    """Draws (anchor, positive, negative) pictures, each picture once per epoch as the anchor."""

    def __init__(self, images, labels, seed):
        self.images, self.labels = torch.from_numpy(images), labels
        self.by_class = [np.flatnonzero(labels == c) for c in range(10)]
        self.rng = np.random.default_rng(seed)

    def draw(self, anchors):
        classes = self.labels[anchors]
        others = (classes + self.rng.integers(1, 10, len(anchors))) % 10
        pos = [self.by_class[c][self.rng.integers(len(self.by_class[c]))] for c in classes]
        neg = [self.by_class[c][self.rng.integers(len(self.by_class[c]))] for c in others]
        return self.images[anchors], self.images[pos], self.images[neg]

    def epoch(self, batch_size):
        order = self.rng.permutation(len(self.labels))
        for i in range(0, len(order), batch_size):
            yield self.draw(order[i:i + batch_size])


def make_encoder():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, EMB_DIM))


def embed(net, images):
    net.eval()
    with torch.no_grad():
        z = net(torch.from_numpy(images))
    net.train()
    return z.numpy()


def knn_accuracy(net, train_imgs, train_y, test_imgs, test_y):
    knn = KNeighborsClassifier(5).fit(embed(net, train_imgs), train_y)
    return knn.score(embed(net, test_imgs), test_y)


torch.manual_seed(SEED)
bunch = load_digits()
images = (bunch.images / 16.0).astype(np.float32)[:, None]
labels = bunch.target
perm = np.random.default_rng(SEED).permutation(len(labels))
train_idx, test_idx = perm[:1400], perm[1400:]

sampler = TripletSampler(images[train_idx], labels[train_idx], SEED)
test_triplets = TripletSampler(images[test_idx], labels[test_idx], SEED + 1).draw(np.arange(len(test_idx)))

net = make_encoder()
criterion = nn.TripletMarginLoss(margin=MARGIN)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)

for epoch in range(EPOCHS):
    total, seen = 0.0, 0
    for anchor, positive, negative in sampler.epoch(32):
        loss = criterion(net(anchor), net(positive), net(negative))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(anchor)
        seen += len(anchor)
    with torch.no_grad():
        a, p, n = (net(t) for t in test_triplets)
        test_loss = criterion(a, p, n).item()
    acc = knn_accuracy(net, images[train_idx], labels[train_idx], images[test_idx], labels[test_idx])
    print(f"epoch {epoch + 1:2d} | triplet loss {total / seen:.4f} | test {test_loss:.4f} | 5-nn accuracy {acc:.3f}")
