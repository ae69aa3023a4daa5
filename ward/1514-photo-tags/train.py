import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

TAGS = ["beach", "dog", "sunset", "car", "wedding", "snow", "concert", "food", "boat", "child", "bridge", "night"]


class PhotoFeatures(Dataset):
    """64 features per photo from a frozen backbone, and a 0/1 vector of tags."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        directions = np.random.default_rng(99).normal(size=(len(TAGS), 64))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        share = np.linspace(0.02, 0.06, len(TAGS))
        tags = rng.random((n, len(TAGS))) < share
        feats = rng.normal(size=(n, 64)) + 2.2 * tags @ directions
        self.x = torch.tensor(feats, dtype=torch.float32)
        self.y = torch.tensor(tags, dtype=torch.float32)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Tagger(nn.Module):
    def __init__(self, n_tags):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Dropout(0.3), nn.Linear(48, n_tags))

    def forward(self, x):
        return self.net(x)


class Trainer:
    def __init__(self, model, criterion, lr, epochs):
        self.model, self.criterion, self.epochs = model, criterion, epochs
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=4e-3)

    def fit(self, train_loader, val_loader):
        for epoch in range(1, self.epochs + 1):
            self.model.train()
            total = 0.0
            for x, y in train_loader:
                loss = self.criterion(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total += loss.item()
            print(f"epoch {epoch:2d} loss {total / len(train_loader):.4f} val accuracy {self.validate(val_loader):.4f}")

    @torch.no_grad()
    def validate(self, loader):
        self.model.eval()
        right = n = 0
        for x, y in loader:
            predicted = (torch.sigmoid(self.model(x)) > 0.5).float()
            right += (predicted == y).sum().item()
            n += y.numel()
        return right / n


if __name__ == "__main__":
    torch.manual_seed(6)
    train_set = PhotoFeatures(8000, 1)
    train_loader = DataLoader(train_set, batch_size=50, shuffle=True)
    val_loader = DataLoader(PhotoFeatures(2000, 2), batch_size=500)
    criterion = nn.BCEWithLogitsLoss()
    Trainer(Tagger(len(TAGS)), criterion, lr=0.02, epochs=10).fit(train_loader, val_loader)
