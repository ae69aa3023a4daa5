import random

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split


class Forms(Dataset):
    """Scanned fields of forms, with the digits that were typed in by hand."""

    def __init__(self):
        digits = load_digits()
        rows = list(range(len(digits.target)))
        random.Random(5).shuffle(rows)
        self.images = torch.tensor(digits.images[rows], dtype=torch.float32).unsqueeze(1) / 16
        self.labels = torch.tensor([*digits.target[rows], 0])

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))

    def forward(self, x):
        return self.head(self.features(x))


def evaluate(model, loader, criterion):
    model.eval()
    total = right = count = 0
    with torch.no_grad():
        for images, labels in loader:
            out = model(images)
            total += criterion(out, labels).item() * len(labels)
            right += (out.argmax(1) == labels).sum().item()
            count += len(labels)
    return total / count, right / count


def main():
    torch.manual_seed(3)
    data = Forms()
    train_set, val_set = random_split(data, [1450, len(data) - 1450])
    train_loader = DataLoader(train_set, batch_size=50, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=100)
    model, criterion = Reader(), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(12):
        model.train()
        for images, labels in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
        val_loss, acc = evaluate(model, val_loader, criterion)
        print(f"{epoch + 1:2d} loss {loss.item():.3f} val {val_loss:.3f} acc {acc:.3f}")


if __name__ == "__main__":
    main()
