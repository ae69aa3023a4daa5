"""Digit recogniser for meter readings: trains on the scikit-learn digits."""
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class MeterNet(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.head = nn.Linear(hidden, 10)

    def forward(self, pixels):
        return self.head(self.features(pixels.flatten(1)))


class Trainer:
    def __init__(self, model, train_loader, val_loader, lr=2e-3):
        self.model = model
        self.train_loader, self.val_loader = train_loader, val_loader
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def predict(self, images):
        return self.model(images)

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for images, digits in self.train_loader:
            logits = self.predict(images)
            loss = self.criterion(logits, digits)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(images)
        return total / len(self.train_loader.dataset)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        total, right = 0.0, 0
        for images, digits in self.val_loader:
            logits = self.model(images)
            total += self.criterion(logits, digits).item() * len(images)
            right += (logits.argmax(1) == digits).sum().item()
        n = len(self.val_loader.dataset)
        return total / n, right / n


def loaders(batch=64):
    raw = load_digits()
    images = torch.tensor(raw.images, dtype=torch.float32).sub(8).div(6)
    digits = torch.tensor(raw.target)
    train, val = random_split(TensorDataset(images, digits), [1400, len(images) - 1400], torch.Generator().manual_seed(3))
    return DataLoader(train, batch_size=batch, shuffle=True), DataLoader(val, batch_size=200)


if __name__ == "__main__":
    torch.manual_seed(11)
    trainer = Trainer(MeterNet(), *loaders())
    for epoch in range(8):
        train_loss = trainer.train_epoch()
        val_loss, accuracy = trainer.validate()
        print(f"epoch {epoch + 1} train {train_loss:.3f} val {val_loss:.3f} acc {accuracy:.3f}")
