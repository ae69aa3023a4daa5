import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, Dataset


def to_tensor(pic):
    """HxW uint8 picture -> 1xHxW float tensor."""
    return torch.from_numpy(pic).unsqueeze(0).float().div(255)


class Glyphs(Dataset):
    def __init__(self, pictures, labels, transform):
        self.pictures, self.labels, self.transform = pictures, labels, transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.transform(self.pictures[i]), int(self.labels[i])


class GlyphNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc1 = nn.Linear(24 * 4, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)

    def prepare(self, batch):
        images, labels = batch
        return images / 255.0, labels

    def fit(self, train_loader, val_loader, epochs):
        for epoch in range(1, epochs + 1):
            self.model.train()
            running = 0.0
            for batch in train_loader:
                images, labels = self.prepare(batch)
                loss = F.cross_entropy(self.model(images), labels)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                running += loss.item()
            print(f"epoch {epoch:2d}  loss {running / len(train_loader):.4f}  val acc {self.score(val_loader):.3f}")

    @torch.no_grad()
    def score(self, loader):
        self.model.eval()
        hits = total = 0
        for batch in loader:
            images, labels = self.prepare(batch)
            hits += (self.model(images).argmax(1) == labels).sum().item()
            total += len(labels)
        return hits / total


torch.manual_seed(8)
digits = load_digits()
pictures = np.clip(digits.images * 16, 0, 255).astype(np.uint8)
X_train, X_val, y_train, y_val = train_test_split(pictures, digits.target, test_size=0.25, random_state=8)
train_loader = DataLoader(Glyphs(X_train, y_train, to_tensor), batch_size=50, shuffle=True)
val_loader = DataLoader(Glyphs(X_val, y_val, to_tensor), batch_size=150)
Trainer(GlyphNet(), lr=0.05).fit(train_loader, val_loader, epochs=12)
