import argparse
import random

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset


def set_seed(seed):
    random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False


class Stamps(Dataset):
    """Postal stamps are scanned by hand, so that they are shifted and of uneven brightness."""

    def __init__(self, images, labels, augment):
        self.images, self.labels, self.augment = images, labels, augment

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        image = self.images[index]
        if self.augment:
            shift = np.random.randint(-1, 2, size=2)
            image = np.roll(image, shift, axis=(0, 1))
            image = image * np.random.uniform(0.8, 1.2)
        return torch.from_numpy(image.astype(np.float32)).unsqueeze(0), int(self.labels[index])


def build(width):
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(2 * width * 16, 10),
    )


def evaluate(model, loader):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for x, y in loader:
            right += (model(x).argmax(1) == y).sum().item()
            total += len(y)
    return right / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--width", type=int, default=8)
    args = parser.parse_args()
    set_seed(args.seed)

    digits = load_digits()
    images, labels = digits.images / 16.0 - 0.3, digits.target
    train = DataLoader(Stamps(images[:1400], labels[:1400], True), batch_size=50, shuffle=True)
    val = DataLoader(Stamps(images[1400:], labels[1400:], False), batch_size=200)
    model = build(args.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for x, y in train:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(train):.4f}, val accuracy {evaluate(model, val):.4f}")


if __name__ == "__main__":
    main()
