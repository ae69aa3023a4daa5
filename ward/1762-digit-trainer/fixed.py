from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    epochs: int = 14
    batch_size: int = 32
    lr: float = 1.5e-3
    weight_decay: float = 1e-4
    image_size: int = 16
    seed: int = 21


class DigitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())
        self.body = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
                                  nn.MaxPool2d(2))
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(32 * 16, 10))

    def forward(self, x):
        return self.head(self.body(self.stem(x)))


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.manual_seed(cfg.seed)
        d = load_digits()
        x = torch.tensor(d.images, dtype=torch.float32)[:, None] / 16
        x = F.interpolate(x, size=cfg.image_size, mode="bilinear", align_corners=False)
        xt, xv, yt, yv = train_test_split(x, torch.tensor(d.target), test_size=0.25, stratify=d.target, random_state=cfg.seed)
        self.train_loader = DataLoader(TensorDataset(xt, yt), batch_size=cfg.batch_size, shuffle=True)
        self.val_loader = DataLoader(TensorDataset(xv, yv), batch_size=150)
        self.model = DigitNet()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=cfg.epochs)
        self.history = []

    def train_epoch(self):
        self.model.train()
        total, n = 0.0, 0
        for x, y in self.train_loader:
            self.optimizer.zero_grad(set_to_none=True)
            loss = F.cross_entropy(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(y)
            n += len(y)
        return total / n

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        maps = []
        handle = self.model.stem.register_forward_hook(lambda module, inputs, output: maps.append(output.detach()))
        loss, hits, n = 0.0, 0, 0
        for x, y in self.val_loader:
            out = self.model(x)
            loss += F.cross_entropy(out, y, reduction="sum").item()
            hits += (out.argmax(1) == y).sum().item()
            n += len(y)
        handle.remove()
        return loss / n, hits / n, self.channel_usage(maps)

    @staticmethod
    def channel_usage(maps):
        """Share of feature channels that respond to at least one picture in twenty."""
        fires = torch.cat([(m.amax(dim=(2, 3)) > 0).float() for m in maps]).mean(0)
        return (fires > 0.05).float().mean().item()

    def fit(self):
        for epoch in range(1, self.cfg.epochs + 1):
            train_loss = self.train_epoch()
            self.scheduler.step()
            val_loss, val_acc, usage = self.validate()
            self.history.append((train_loss, val_loss, val_acc))
            print(f"[{epoch:02d}/{self.cfg.epochs}] train {train_loss:.4f}  val {val_loss:.4f}  acc {val_acc:.4f}  "
                  f"channels used {usage:.2f}")
        best = max(range(len(self.history)), key=lambda i: self.history[i][2])
        print("best epoch", best + 1, "accuracy %.4f" % self.history[best][2])


if __name__ == "__main__":
    Trainer(Config()).fit()
