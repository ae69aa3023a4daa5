import argparse

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


class ActivationMonitor:
    """Keeps what the layers put out, for the statistics printed after every epoch."""

    def __init__(self, model):
        self.records = {}
        for name, module in model.named_modules():
            if isinstance(module, nn.Conv2d):
                self.records[name] = []
                module.register_forward_hook(self.make_hook(name))

    def make_hook(self, name):
        def hook(module, inputs, output):
            if module.training:
                self.records[name].append(output.detach().clone())
        return hook

    def summary(self):
        parts = []
        for name, acts in self.records.items():
            last = torch.cat(acts[-10:])
            parts.append(f"{name} mean {last.mean():.3f} std {last.std():.3f}")
            acts.clear()
        return "; ".join(parts)


class DigitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 24, 3, padding=1)
        self.conv2 = nn.Conv2d(24, 24, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(24 * 16, 10)

    def forward(self, x):
        h = torch.relu(self.conv1(x))
        h = self.pool(torch.relu(self.conv2(h)))
        return self.fc(self.drop(h.flatten(1)))


class Trainer:
    def __init__(self, args):
        self.args = args
        X, y = load_digits(return_X_y=True)
        X = torch.tensor(X, dtype=torch.float32).view(-1, 1, 8, 8) / 16
        y = torch.tensor(y)
        tr, va = train_test_split(range(len(y)), test_size=0.25, stratify=y, random_state=0)
        self.X, self.y, self.Xv, self.yv = X[tr], y[tr], X[va], y[va]
        self.model = DigitNet()
        self.monitor = ActivationMonitor(self.model)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, args.epochs)
        self.criterion = nn.CrossEntropyLoss()

    def run(self):
        for epoch in range(1, self.args.epochs + 1):
            self.model.train()
            total = 0.0
            for idx in torch.randperm(len(self.y)).split(self.args.batch_size):
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(self.X[idx]), self.y[idx])
                loss.backward()
                self.optimizer.step()
                total += loss.item() * len(idx)
            self.scheduler.step()
            self.model.eval()
            with torch.no_grad():
                out = self.model(self.Xv)
            val = self.criterion(out, self.yv).item()
            acc = (out.argmax(1) == self.yv).float().mean().item()
            print(f"[{epoch}] train {total / len(self.y):.4f} val {val:.4f} acc {acc:.3f} | {self.monitor.summary()}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.02)
    args = parser.parse_args()
    torch.manual_seed(10)
    Trainer(args).run()
