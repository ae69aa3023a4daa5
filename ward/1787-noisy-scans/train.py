from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    epochs: int = 25
    batch_size: int = 50
    lr: float = 2e-3
    dropout: float = 0.4
    noise: float = 0.15
    seed: int = 9


class ScanNet(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 24, 3, padding=1)
        self.conv2 = nn.Conv2d(24, 48, 3, padding=1)
        self.fc1 = nn.Linear(48 * 4, 96)
        self.fc2 = nn.Linear(96, 10)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = self.drop(F.relu(self.fc1(x.flatten(1))))
        return self.fc2(x)


def augment(x, noise):
    """Scanner noise and dirty glass: a few pixels go blank."""
    dirt = (torch.rand_like(x) > 0.1).float()
    return x * dirt + noise * torch.randn_like(x)


def run_epoch(model, loader, cfg, opt=None, sched=None):
    model.train(opt is not None)
    loss_sum = hits = n = 0
    with torch.set_grad_enabled(opt is not None):
        for x, y in loader:
            out = model(augment(x, cfg.noise) if opt is not None else x)
            loss = F.cross_entropy(out, y)
            if opt is not None:
                opt.zero_grad()
                loss.backward()
                opt.step()
                sched.step()
            loss_sum += loss.item() * len(y)
            hits += (out.argmax(1) == y).sum().item()
            n += len(y)
    return loss_sum / n, hits / n


def main(cfg=Config()):
    torch.manual_seed(cfg.seed)
    d = load_digits()
    x, y = torch.tensor(d.images, dtype=torch.float32)[:, None] / 16, torch.tensor(d.target)
    xt, xv, yt, yv = train_test_split(x, y, test_size=0.25, stratify=y, random_state=cfg.seed)
    train = DataLoader(TensorDataset(xt, yt), batch_size=cfg.batch_size, shuffle=True)
    valid = DataLoader(TensorDataset(xv, yv), batch_size=450)
    model = ScanNet(cfg.dropout)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=1e-2)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=cfg.lr, total_steps=cfg.epochs * len(train))
    for epoch in range(1, cfg.epochs + 1):
        tl, ta = run_epoch(model, train, cfg, opt, sched)
        vl, va = run_epoch(model, valid, cfg)
        if epoch % 3 == 1:
            print(f"{epoch:2d}/{cfg.epochs} train loss {tl:.4f} acc {ta:.3f} | valid loss {vl:.4f} acc {va:.3f}")


if __name__ == "__main__":
    main()
