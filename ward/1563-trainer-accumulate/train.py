from dataclasses import dataclass

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class TrainerArgs:
    epochs: int = 16
    micro_batch: int = 8
    accumulation_steps: int = 8
    lr: float = 0.05
    momentum: float = 0.9
    log_every: int = 2


class SmallCNN(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.classifier = nn.Sequential(nn.Linear(8 * width, 48), nn.ReLU(), nn.Linear(48, 10))

    def forward(self, x):
        return self.classifier(self.features(x))


class Trainer:
    def __init__(self, model, args, train_set, eval_set):
        self.model, self.args = model, args
        self.train_loader = DataLoader(train_set, batch_size=args.micro_batch, shuffle=True, drop_last=True)
        self.eval_loader = DataLoader(eval_set, batch_size=256)
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)

    def training_step(self, batch):
        x, y = batch
        loss = self.criterion(self.model(x), y)
        loss.backward()
        return loss.item()

    def train_epoch(self):
        self.model.train()
        total = 0.0
        self.optimizer.zero_grad()
        for i, batch in enumerate(self.train_loader):
            total += self.training_step(batch)
            if (i + 1) % self.args.accumulation_steps == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()
        return total / len(self.train_loader)

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        loss = hits = n = 0
        for x, y in self.eval_loader:
            out = self.model(x)
            loss += self.criterion(out, y).item() * len(y)
            hits += (out.argmax(1) == y).sum().item()
            n += len(y)
        return loss / n, hits / n

    def fit(self):
        for epoch in range(1, self.args.epochs + 1):
            train_loss = self.train_epoch()
            if epoch % self.args.log_every == 0:
                eval_loss, acc = self.evaluate()
                print({"epoch": epoch, "loss": round(train_loss, 4), "eval_loss": round(eval_loss, 4), "eval_accuracy": round(acc, 3)})


if __name__ == "__main__":
    torch.manual_seed(0)
    x, y = load_digits(return_X_y=True)
    x = torch.tensor(x, dtype=torch.float32).view(-1, 1, 8, 8) / 16
    y = torch.tensor(y)
    x_train, x_eval, y_train, y_eval = train_test_split(x, y, test_size=0.2, stratify=y, random_state=0)
    Trainer(SmallCNN(), TrainerArgs(), TensorDataset(x_train, y_train), TensorDataset(x_eval, y_eval)).fit()
