import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


class ConvNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU(), nn.MaxPool2d(2))
        self.classifier = nn.Linear(2 * width * 4, 10)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


class Trainer:
    def __init__(self, model, train_loader, val_loader, lr, epochs):
        self.model = model
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.epochs = epochs
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)

    def train_step(self, images, labels):
        outputs = self.model(images)
        loss = self.criterion(outputs, labels)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        loss, hits, count = 0.0, 0, 0
        for images, labels in self.val_loader:
            outputs = self.model(images)
            loss += self.criterion(outputs, labels).item() * len(labels)
            hits += (outputs.argmax(1) == labels).sum().item()
            count += len(labels)
        return loss / count, hits / count

    def fit(self):
        for epoch in range(1, self.epochs + 1):
            self.model.train()
            losses = [self.train_step(images, labels) for images, labels in self.train_loader]
            val_loss, val_acc = self.validate()
            print(f"Epoch {epoch}/{self.epochs} - loss: {sum(losses) / len(losses):.4f}"
                  f" - val_loss: {val_loss:.4f} - val_acc: {val_acc:.4f}")


if __name__ == "__main__":
    torch.manual_seed(7)
    images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images, dtype=torch.float32).view(-1, 1, 8, 8) / 16
    labels, order = torch.tensor(labels), torch.randperm(len(labels))
    xt, yt = images[order[:1350]], labels[order[:1350]]
    xv, yv = images[order[1350:]], labels[order[1350:]]
    trainer = Trainer(ConvNet(),
                      DataLoader(TensorDataset(xt, yt), batch_size=45, shuffle=True),
                      DataLoader(TensorDataset(xv, yv), batch_size=450),
                      lr=0.02, epochs=5)
    trainer.fit()
