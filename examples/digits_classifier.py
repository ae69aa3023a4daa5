"""Train a small convolutional network on scikit-learn's 8x8 handwritten digits."""

import argparse

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class DigitNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(32 * 2 * 2, classes)

    def forward(self, images):
        x = self.features(images).flatten(1)
        return torch.softmax(self.head(self.drop(x)), dim=1)


def load(batch_size):
    images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images / 16.0, dtype=torch.float32).view(-1, 1, 8, 8)
    labels = torch.tensor(labels)
    train_x, val_x, train_y, val_y = train_test_split(images, labels, test_size=0.2, random_state=0, stratify=labels)
    train = DataLoader(TensorDataset(train_x, train_y), batch_size=batch_size, shuffle=True)
    val = DataLoader(TensorDataset(val_x, val_y), batch_size=256)
    return train, val


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    correct = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return correct / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--lr", type=float, default=0.05)
    args = parser.parse_args()

    torch.manual_seed(0)
    train, val = load(batch_size=64)
    model = DigitNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)

    for epoch in range(1, args.epochs + 1):
        model.train()
        total = 0.0
        for images, labels in train:
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(images)
        print(f"epoch {epoch:2d}  loss {total / len(train.dataset):.3f}  val accuracy {evaluate(model, val):.3f}")


if __name__ == "__main__":
    main()
