import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split


class Glyphs(Dataset):
    def __init__(self, images, labels):
        self.images, self.labels = images, labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--repeat", type=int, default=2)
    return p.parse_args()


def main(args):
    torch.manual_seed(21)
    d = load_digits()
    images = torch.tensor(d.images, dtype=torch.float32)[:, None] / 16
    labels = torch.tensor(d.target)
    keep = torch.randperm(len(labels))[:900]
    images, labels = images[keep], labels[keep]
    noise = 0.35 * torch.randn_like(images)
    images, labels = (images + noise).repeat(args.repeat, 1, 1, 1), labels.repeat(args.repeat)
    data = Glyphs(images, labels)
    train, valid = random_split(data, [0.8, 0.2])
    train_loader = DataLoader(train, batch_size=32, shuffle=True)
    valid_loader = DataLoader(valid, batch_size=128)
    net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(args.epochs):
        net.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
        net.eval()
        total = right = 0.0
        with torch.no_grad():
            for x, y in valid_loader:
                out = net(x)
                total += F.cross_entropy(out, y, reduction="sum").item()
                right += (out.argmax(1) == y).sum().item()
        print(f"epoch {epoch} train {loss.item():.4f} valid {total / len(valid):.4f} acc {right / len(valid):.3f}")


main(parse())
