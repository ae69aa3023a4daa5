import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset


def pictures(low, high):
    """Train and validation sets of the digits low..high-1."""
    d = load_digits()
    keep = (d.target >= low) & (d.target < high)
    X = torch.tensor(d.data[keep], dtype=torch.float32) / 16
    y = torch.tensor(d.target[keep])
    Xt, Xv, yt, yv = train_test_split(X, y, test_size=0.35, random_state=0, stratify=y)
    return TensorDataset(Xt, yt), TensorDataset(Xv, yv)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Dropout(0.2), nn.Linear(96, 48), nn.ReLU())
        self.head = nn.Linear(48, 10)

    def forward(self, x):
        return self.head(self.body(x))


@torch.no_grad()
def score(model, dataset):
    model.eval()
    x, y = dataset.tensors
    out = model(x)
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


def fit(model, train_set, watch, epochs, lr):
    loader = DataLoader(train_set, batch_size=32, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=1e-4)
    for epoch in range(1, epochs + 1):
        model.train()
        total = 0.0
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 3 == 0:
            line = "  ".join("{} val {:.3f} acc {:.3f}".format(name, *score(model, ds)) for name, ds in watch.items())
            print(f"  epoch {epoch:2d}  train {total / len(loader):.4f}  {line}")


def main():
    torch.manual_seed(12)
    small_train, small_val = pictures(0, 5)
    large_train, large_val = pictures(5, 10)
    model = Classifier()

    print("stage 1: digits 0-4")
    fit(model, small_train, {"0-4": small_val}, epochs=15, lr=2e-3)
    print("stage 2: add digits 5-9")
    fit(model, large_train, {"0-4": small_val, "5-9": large_val}, epochs=24, lr=2e-3)
    print("final accuracy 0-4: {:.3f}  5-9: {:.3f}".format(score(model, small_val)[1], score(model, large_val)[1]))


if __name__ == "__main__":
    main()
