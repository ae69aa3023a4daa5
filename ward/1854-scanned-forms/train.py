"""Read single digits cut out of scanned forms. Pictures lie in one folder, labels in labels.csv."""
import csv
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset, Subset


def export_forms(root):
    """Stand-in for the scanner: form_0.npy ... form_N.npy and one csv with a line per form."""
    data = load_digits()
    for i, img in enumerate(data.images):
        np.save(root / f"form_{i}.npy", img.astype(np.uint8))
    with open(root / "labels.csv", "w", newline="") as f:
        writer = csv.writer(f)
        writer.writerow(["form", "digit"])
        writer.writerows(enumerate(data.target))


class FormDataset(Dataset):
    def __init__(self, root):
        self.files = sorted(Path(root).glob("*.npy"))
        with open(Path(root) / "labels.csv") as f:
            self.labels = [int(row["digit"]) for row in csv.DictReader(f)]
        assert len(self.files) == len(self.labels)
        self.images = torch.stack([torch.from_numpy(np.load(p)) for p in self.files])

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        image = self.images[idx].float().unsqueeze(0) / 16.0
        return (image - 0.3) / 0.38, self.labels[idx]


class FormReader(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU(),
        )
        self.classifier = nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.2), nn.Linear(8 * width, 10))

    def forward(self, x):
        return self.classifier(self.features(x))


def run_epoch(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    loss_sum = correct = count = 0
    with torch.set_grad_enabled(optimizer is not None):
        for images, labels in loader:
            logits = model(images)
            loss = criterion(logits, labels)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * len(labels)
            correct += (logits.argmax(1) == labels).sum().item()
            count += len(labels)
    return loss_sum / count, correct / count


def main():
    torch.manual_seed(3)
    with tempfile.TemporaryDirectory() as tmp:
        export_forms(Path(tmp))
        dataset = FormDataset(tmp)
    perm = torch.randperm(len(dataset)).tolist()
    train_loader = DataLoader(Subset(dataset, perm[:1400]), batch_size=40, shuffle=True)
    val_loader = DataLoader(Subset(dataset, perm[1400:]), batch_size=200)
    model = FormReader()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
    for epoch in range(8):
        tl, ta = run_epoch(model, train_loader, criterion, optimizer)
        vl, va = run_epoch(model, val_loader, criterion)
        print(f"epoch {epoch + 1:2d}: train loss {tl:.4f} acc {ta:.3f}, val loss {vl:.4f} acc {va:.3f}")


if __name__ == "__main__":
    main()
