"""Train an encoder on the digits 0-4, then carry it over to 5-9: first only a new head, afterwards everything."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


def make_sets(digits, seed=0):
    d = load_digits()
    x = torch.tensor(d.images, dtype=torch.float32)[:, None] / 16
    y = torch.tensor(d.target)
    keep = torch.isin(y, torch.tensor(digits))
    x, y = (x[keep] - 0.305) / 0.376, y[keep] - digits[0]
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(seed))
    cut = int(0.75 * len(y))
    return TensorDataset(x[order[:cut]], y[order[:cut]]), TensorDataset(x[order[cut:]], y[order[cut:]])


def encoder():
    return nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Dropout(0.25), nn.Linear(96, 8), nn.ReLU())


class Learner:
    def __init__(self, enc, n_classes, lr):
        self.enc, self.head = enc, nn.Linear(8, n_classes)
        self.net = nn.Sequential(self.enc, self.head)
        self.compile(lr)

    def compile(self, lr):
        self.optimizer = torch.optim.Adam([p for p in self.net.parameters() if p.requires_grad], lr=lr)

    def freeze(self):
        self.enc.requires_grad_(False)

    def unfreeze(self):
        self.enc.requires_grad_(True)

    def fit(self, train, valid, epochs, tag):
        loader = DataLoader(train, batch_size=16, shuffle=True)
        for epoch in range(1, epochs + 1):
            self.net.train()
            total = 0.0
            for x, y in loader:
                self.optimizer.zero_grad()
                loss = F.cross_entropy(self.net(x), y)
                loss.backward()
                self.optimizer.step()
                total += loss.item() * len(y)
            vloss, vacc = self.validate(valid)
            print(f"[{tag}] epoch {epoch:2d} train {total / len(train):.4f} valid {vloss:.4f} acc {vacc:.3f}")

    @torch.no_grad()
    def validate(self, valid):
        self.net.eval()
        x, y = valid.tensors
        out = self.net(x)
        return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(7)
    source, target = make_sets([0, 1, 2, 3, 4]), make_sets([5, 6, 7, 8, 9])
    first = Learner(encoder(), 5, lr=2e-3)
    first.fit(*source, epochs=10, tag="source")

    second = Learner(first.enc, 5, lr=2e-3)
    second.freeze()
    second.compile(lr=5e-3)
    second.fit(*target, epochs=6, tag="head")
    second.unfreeze()
    second.compile(lr=1e-3)
    second.fit(*target, epochs=16, tag="all")
