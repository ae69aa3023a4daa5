import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset


class ScanData:
    """Pictures as they come from disk: one folder per class, folders read one after the other."""

    def __init__(self, batch_size):
        d = load_digits()
        self.batch_size = batch_size
        i_train, i_val = train_test_split(np.arange(len(d.target)), test_size=0.25, stratify=d.target, random_state=4)
        self.parts = {"train": self.read(d, i_train), "val": self.read(d, i_val)}

    @staticmethod
    def read(d, rows):
        folders = [rows[d.target[rows] == c] for c in range(10)]
        rows = np.concatenate(folders)
        pictures = torch.tensor(d.images[rows], dtype=torch.float32).unsqueeze(1)
        return TensorDataset((pictures - 4.9) / 6.0, torch.tensor(d.target[rows]))

    def loader(self, split):
        return DataLoader(self.parts[split], batch_size=self.batch_size, shuffle=(split == "training"))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc = nn.Linear(32 * 4, 10)
        self.drop = nn.Dropout(0.25)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(self.drop(x.flatten(1)))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--seed", type=int, default=2)
    args = p.parse_args()
    torch.manual_seed(args.seed)

    data = ScanData(args.batch_size)
    train_loader, val_loader = data.loader("train"), data.loader("val")
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs)
    for epoch in range(args.epochs):
        net.train()
        losses = []
        for x, y in train_loader:
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        sched.step()
        net.eval()
        with torch.no_grad():
            outs = [(net(x), y) for x, y in val_loader]
        out, y = torch.cat([o for o, _ in outs]), torch.cat([t for _, t in outs])
        print("epoch %d  train loss %.4f  val loss %.4f  val acc %.3f" % (
            epoch + 1, np.mean(losses), F.cross_entropy(out, y), (out.argmax(1) == y).float().mean()))


if __name__ == "__main__":
    main()
