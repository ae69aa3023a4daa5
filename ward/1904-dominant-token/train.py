"""Which symbol dominates a short message? A two-layer encoder."""
import argparse
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--lr", type=float, default=5e-4)
parser.add_argument("--batch-size", type=int, default=32)
args = parser.parse_args()

torch.manual_seed(21)
SYMBOLS, LENGTH, WIDTH = 10, 18, 32


def messages(n):
    x = torch.randint(0, SYMBOLS, (n, LENGTH))
    chosen = torch.randint(0, SYMBOLS, (n, 1))
    x = torch.where(torch.rand(n, LENGTH) < 0.25, chosen, x)
    return x, nn.functional.one_hot(x, SYMBOLS).sum(1).argmax(1)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.symbol = nn.Embedding(SYMBOLS, WIDTH)
        self.place = nn.Parameter(0.02 * torch.randn(LENGTH, WIDTH))
        self.blocks = nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, 4, 64, dropout=0.0, batch_first=True), 2)
        self.head = nn.Linear(WIDTH, SYMBOLS)

    def forward(self, x):
        return self.head(self.blocks(self.symbol(x) * math.sqrt(WIDTH) + self.place).mean(1))


train_x, train_y = messages(1600)
val_x, val_y = messages(500)
loader = DataLoader(TensorDataset(train_x, train_y), batch_size=args.batch_size, shuffle=True)
model = Encoder()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

for epoch in range(args.epochs):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        out = model(val_x)
        print(f"[{epoch + 1}/{args.epochs}] val loss {criterion(out, val_y):.3f} val acc {(out.argmax(1) == val_y).float().mean():.3f}")
