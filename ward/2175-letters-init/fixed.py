import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset, random_split


class Head(nn.Module):
    """Two hidden layers with batch norm left out on purpose (runs on a microcontroller)."""

    def __init__(self, n_in=64, width=48, n_out=10):
        super().__init__()
        self.fc1 = nn.Linear(n_in, width)
        self.fc2 = nn.Linear(width, width)
        self.out = nn.Linear(width, n_out)
        self.apply(self.init_weights)

    @staticmethod
    def init_weights(m):
        if isinstance(m, nn.Linear):
            bound = (6.0 / (m.in_features + m.out_features)) ** 0.5
            nn.init.uniform_(m.weight, -bound, bound)
            nn.init.zeros_(m.bias)

    def forward(self, x):
        x = torch.tanh(self.fc1(x))
        x = torch.tanh(self.fc2(x))
        return self.out(x)


def loaders(batch):
    d = load_digits()
    x = torch.tensor(d.data, dtype=torch.float32) / 8 - 1
    full = TensorDataset(x, torch.tensor(d.target))
    train, val = random_split(full, [1397, 400], generator=torch.Generator().manual_seed(3))
    return DataLoader(train, batch, shuffle=True), DataLoader(val, 400)


def main():
    torch.manual_seed(3)
    train, val = loaders(32)
    model = Head()
    opt = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9, weight_decay=1e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 30)
    for epoch in range(30):
        model.train()
        total = 0.0
        for x, y in train:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() / len(train)
        sched.step()
        model.eval()
        with torch.no_grad():
            x, y = next(iter(val))
            out = model(x)
        if epoch % 3 == 2:
            print(f"epoch {epoch + 1:2d} loss {total:.4f} val loss {F.cross_entropy(out, y).item():.4f} val acc {(out.argmax(1) == y).float().mean().item():.4f}")


main()
