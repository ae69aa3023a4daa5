import logging
import sys
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
log = logging.getLogger("train")


@dataclass
class TrainArgs:
    micro_batch: int = 24
    total_batch: int = 96
    epochs: int = 40
    lr: float = 3e-3
    seed: int = 12

    @property
    def accumulate(self):
        return self.total_batch // self.micro_batch


class DigitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.GELU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.GELU(), nn.MaxPool2d(2), nn.Flatten())
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(128, 10))

    def forward(self, x):
        return self.classifier(self.features(x))


class Trainer:
    def __init__(self, model, args, train_loader, eval_loader):
        self.model, self.args = model, args
        self.train_loader, self.eval_loader = train_loader, eval_loader
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
        self.global_step = 0

    def training_step(self, batch):
        x, y = batch
        loss = F.cross_entropy(self.model(x), y)
        (loss / self.args.accumulate).backward()
        return loss.detach()

    def train_epoch(self):
        self.model.train()
        self.optimizer.zero_grad()
        running = torch.zeros(())
        for i, batch in enumerate(self.train_loader):
            running += self.training_step(batch)
            if (i + 1) % self.args.accumulate == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()
                self.global_step += 1
        return running.item() / len(self.train_loader)

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        logits, labels = zip(*[(self.model(x), y) for x, y in self.eval_loader])
        logits, labels = torch.cat(logits), torch.cat(labels)
        return F.cross_entropy(logits, labels).item(), (logits.argmax(1) == labels).float().mean().item()

    def fit(self):
        for epoch in range(1, self.args.epochs + 1):
            train_loss = self.train_epoch()
            if epoch % 2 == 0:
                loss, acc = self.evaluate()
                log.info(f"epoch {epoch:3d} | train_loss {train_loss:.4f} | eval_loss {loss:.4f} | eval_acc {acc:.4f}")


def loaders(args):
    X, y = load_digits(return_X_y=True)
    X = torch.tensor(X, dtype=torch.float32).view(-1, 1, 8, 8) / 8 - 1
    a, b, ya, yb = train_test_split(X, torch.tensor(y), test_size=0.25, random_state=args.seed, stratify=y)
    return (DataLoader(TensorDataset(a, ya), batch_size=args.micro_batch, shuffle=True, drop_last=True),
            DataLoader(TensorDataset(b, yb), batch_size=150))


if __name__ == "__main__":
    args = TrainArgs()
    torch.manual_seed(args.seed)
    Trainer(DigitNet(), args, *loaders(args)).fit()
