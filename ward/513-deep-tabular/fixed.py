import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.lin1 = nn.Linear(width, width)
        self.lin2 = nn.Linear(width, width)
        for lin in (self.lin1, self.lin2):
            nn.init.kaiming_normal_(lin.weight, nonlinearity="relu")

    def forward(self, x):
        return x + self.lin2(torch.relu(self.lin1(self.norm(x))))


class DeepTabular(nn.Module):
    def __init__(self, n_in, width, depth, classes):
        super().__init__()
        self.stem = nn.Linear(n_in, width)
        self.blocks = nn.Sequential(*[Block(width) for _ in range(depth)])
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


def make_data(n, gen):
    x = torch.randn(n, 8, generator=gen)
    a = (x[:, 0] + x[:, 1] > 0).long()
    b = (x[:, 2:4].pow(2).sum(1) > 1.4).long()
    return x, 2 * a + b


def main(cfg):
    torch.manual_seed(cfg.seed)
    gen = torch.Generator().manual_seed(cfg.seed)
    train = DataLoader(TensorDataset(*make_data(3000, gen)), batch_size=cfg.batch, shuffle=True)
    xv, yv = make_data(600, gen)
    model = DeepTabular(8, cfg.width, cfg.depth, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(cfg.epochs):
        model.train()
        total = 0.0
        for xb, yb in train:
            loss = loss_fn(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() / len(train)
        model.eval()
        with torch.no_grad():
            out = model(xv)
        print(f"epoch {epoch}  train {total:.4f}  val {loss_fn(out, yv):.4f}  acc {(out.argmax(1) == yv).float().mean():.3f}")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--depth", type=int, default=10)
    ap.add_argument("--width", type=int, default=32)
    ap.add_argument("--lr", type=float, default=0.005)
    ap.add_argument("--batch", type=int, default=60)
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--seed", type=int, default=12)
    main(ap.parse_args())
