import copy

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts
from torch.utils.data import DataLoader, TensorDataset


class ConvNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU())
        self.body = nn.Sequential(nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU(),
                                  nn.Conv2d(2 * width, 2 * width, 3, stride=2, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU())
        self.fc = nn.Linear(2 * width * 4, 10)

    def forward(self, x):
        return self.fc(self.body(self.stem(x)).flatten(1))


class SnapshotTrainer:
    """SGD with warm restarts; the net at the end of each cycle joins the ensemble."""

    def __init__(self, model, train_loader, val_data, lr=0.05, cycle=6, cycles=3):
        self.model, self.loader, self.val = model, train_loader, val_data
        self.cycle, self.cycles, self.snapshots = cycle, cycles, []
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=5e-4)
        self.scheduler = CosineAnnealingWarmRestarts(self.optimizer, T_0=cycle * len(train_loader), eta_min=1e-4)
        self.loss_fn = nn.CrossEntropyLoss(label_smoothing=0.1)

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for x, y in self.loader:
            shift = torch.randint(-1, 2, (2,)).tolist()
            loss = self.loss_fn(self.model(torch.roll(x, shift, (2, 3))), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            total += loss.item()
        return total / len(self.loader)

    @torch.no_grad()
    def predict(self, model, x):
        model.eval()
        return model(x)

    def fit(self):
        x, y = self.val
        for epoch in range(1, self.cycle * self.cycles + 1):
            train = self.train_epoch()
            out = self.predict(self.model, x)
            print(f"epoch {epoch:2d} train {train:.4f} val {self.loss_fn(out, y).item():.4f} acc {(out.argmax(1) == y).float().mean():.3f}")
            if epoch % self.cycle == 0:
                self.snapshots.append(copy.deepcopy(self.model))
        votes = sum(self.predict(m, x).softmax(1) for m in self.snapshots)
        print(f"ensemble of {len(self.snapshots)}: acc {(votes.argmax(1) == y).float().mean():.3f}")


if __name__ == "__main__":
    torch.manual_seed(6)
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 8 - 1
    y = torch.tensor(digits.target)
    x_tr, x_va, y_tr, y_va = train_test_split(x, y, test_size=0.25, random_state=6, stratify=y)
    loader = DataLoader(TensorDataset(x_tr, y_tr), batch_size=32, shuffle=True)
    SnapshotTrainer(ConvNet(), loader, (x_va, y_va)).fit()
