"""Stage 1: digits 0-6.  Stage 2: teach the same reader the digits 7-9 that were collected later."""
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import ConcatDataset, DataLoader, Subset, TensorDataset


def split():
    d = load_digits()
    x = torch.tensor(d.images, dtype=torch.float32)[:, None] / 16 - 0.3
    y = torch.tensor(d.target)
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(0))
    x, y = x[order], y[order]
    train, test = TensorDataset(x[:1350], y[:1350]), TensorDataset(x[1350:], y[1350:])

    def only(ds, keep):
        return Subset(ds, [i for i in range(len(ds)) if (int(ds[i][1]) >= 7) == keep])

    return only(train, False), only(train, True), only(test, False), only(test, True)


def fit(model, data, epochs, lr, tests, tag):
    loader = DataLoader(data, batch_size=32, shuffle=True)
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(1, epochs + 1):
        model.train()
        total = 0.0
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() / len(loader)
        scores = "  ".join(f"{name} {evaluate(model, ds):.3f}" for name, ds in tests.items())
        print(f"{tag} epoch {epoch:2d}  loss {total:.4f}  {scores}")


@torch.no_grad()
def evaluate(model, data):
    model.eval()
    hits = n = 0
    for x, y in DataLoader(data, batch_size=256):
        hits += (model(x).argmax(1) == y).sum().item()
        n += len(y)
    return hits / n


if __name__ == "__main__":
    torch.manual_seed(0)
    old_train, new_train, old_test, new_test = split()
    net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
                        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
    print("stage 1:", len(old_train), "pictures")
    fit(net, old_train, 18, 2e-3, {"old digits": old_test}, "base")
    print("stage 2:", len(new_train), "pictures")
    fit(net, new_train, 15, 2e-3, {"old digits": old_test, "new digits": new_test}, "tune")
    print("all digits:", round(evaluate(net, ConcatDataset([old_test, new_test])), 3))
