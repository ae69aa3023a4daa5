"""Multiple-instance classification: a bag of readings is labelled by the one telling reading it contains."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class AttentionPool(nn.Module):
    """Gated attention pooling over the instances of a bag."""

    def __init__(self, dim, hidden):
        super().__init__()
        self.value = nn.Linear(dim, hidden)
        self.gate = nn.Linear(dim, hidden)
        self.score = nn.Linear(hidden, 1)

    def forward(self, h):  # (bags, instances, dim)
        a = self.score(torch.tanh(self.value(h)) * torch.sigmoid(self.gate(h)))
        a = torch.softmax(a, dim=1)
        return (a * h).sum(1), a.squeeze(-1)


class BagClassifier(nn.Module):
    def __init__(self, n_features, n_classes, dim=48):
        super().__init__()
        self.instance = nn.Sequential(nn.Linear(n_features, dim), nn.ReLU(), nn.Linear(dim, dim), nn.ReLU())
        self.pool = AttentionPool(dim, 24)
        self.classify = nn.Linear(dim, n_classes)

    def forward(self, bags):
        pooled, weights = self.pool(self.instance(bags))
        return self.classify(pooled), weights


class BagTrainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=1e-5)
        self.criterion = nn.CrossEntropyLoss()

    def train_epoch(self, loader):
        self.model.train()
        total = 0.0
        for bags, labels in loader:
            self.optimizer.zero_grad()
            logits, _ = self.model(bags)
            loss = self.criterion(logits, labels)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(labels)
        return total / len(loader.dataset)

    @torch.no_grad()
    def validate(self, loader):
        self.model.eval()
        loss = hits = 0
        for bags, labels in loader:
            logits, _ = self.model(bags)
            loss += self.criterion(logits, labels).item() * len(labels)
            hits += (logits.argmax(1) == labels).sum().item()
        return loss / len(loader.dataset), hits / len(loader.dataset)

    def fit(self, train_loader, val_loader, epochs):
        for epoch in range(epochs):
            train_loss = self.train_epoch(train_loader)
            val_loss, val_acc = self.validate(val_loader)
            print(f"epoch {epoch:02d} train_loss={train_loss:.4f} val_loss={val_loss:.4f} val_acc={val_acc:.4f}")


def make_bags(n, rng, instances=24, features=10, classes=5):
    motifs = np.random.default_rng(99).normal(size=(classes, features)) * 1.8
    x = rng.normal(size=(n, instances, features))
    y = rng.integers(0, classes, n)
    where = rng.integers(0, instances, n)
    x[np.arange(n), where] = motifs[y] + 0.5 * rng.normal(size=(n, features))
    return TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y))


if __name__ == "__main__":
    torch.manual_seed(7)
    rng = np.random.default_rng(7)
    train_loader = DataLoader(make_bags(4000, rng), batch_size=64, shuffle=True)
    val_loader = DataLoader(make_bags(1000, rng), batch_size=500)
    trainer = BagTrainer(BagClassifier(10, 5), lr=1e-3)
    trainer.fit(train_loader, val_loader, epochs=10)
