import csv
import tempfile
from pathlib import Path

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset, Subset


def export(path):
    """The scanner writes one line per picture: 64 grey values and the digit."""
    digits = load_digits()
    with open(path, "w", newline="") as f:
        writer = csv.writer(f)
        writer.writerow([f"p{i}" for i in range(64)] + ["label"])
        for row, label in zip(digits.data, digits.target):
            writer.writerow([f"{v:.1f}" for v in row] + [label])


class CsvDigits(Dataset):
    def __init__(self, path):
        with open(path) as f:
            self.lines = f.read().splitlines()[1:]

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, index):
        row = self.lines[index].split(",")
        pixels = torch.tensor([float(v) for v in row[:64]]).view(1, 8, 8) / 16
        return pixels, int(row[64])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc = nn.Linear(32 * 4, 10)
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = nn.functional.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.fc(self.drop(x.flatten(1)))


def main():
    torch.manual_seed(6)
    path = Path(tempfile.mkdtemp()) / "digits.csv"
    export(path)
    data = CsvDigits(path)
    order = torch.randperm(len(data)).tolist()
    train_loader = DataLoader(Subset(data, order[:1200]), batch_size=25, shuffle=True)
    val_loader = DataLoader(Subset(data, order[1200:]), batch_size=100)
    n_val = len(val_loader.dataset)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
    epochs = 8
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, epochs=epochs, steps_per_epoch=len(train_loader))
    for epoch in range(epochs):
        net.train()
        running = 0.0
        for x, y in train_loader:
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            running += loss.item()
        net.eval()
        val_loss = hits = 0
        with torch.no_grad():
            for x, y in val_loader:
                out = net(x)
                val_loss += nn.functional.cross_entropy(out, y, reduction="sum").item()
                hits += (out.argmax(1) == y).sum().item()
        print(f"epoch {epoch + 1}  train {running / len(train_loader):.4f}  val {val_loss / n_val:.4f}  acc {hits / n_val:.3f}")


if __name__ == "__main__":
    main()
