import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(2)


def labelled_and_rest(n):
    """Only n pictures are labelled for the project; the others serve for the acceptance test."""
    d = load_digits()
    order = torch.randperm(len(d.target))
    x = torch.tensor(d.images, dtype=torch.float32)[order].unsqueeze(1) / 16
    x = x + 0.35 * torch.randn_like(x)  # what the cheap scanner makes of it
    y = torch.tensor(d.target)[order]
    return (x[:n], y[:n]), (x[n:], y[n:])


def augment(x, y, copies):
    """More pictures from few: exposure, contrast and sensor noise vary."""
    xs, ys = [x], [y]
    for _ in range(copies):
        gain = 1 + 0.1 * torch.randn(len(x), 1, 1, 1)
        offset = 0.03 * torch.randn(len(x), 1, 1, 1)
        xs.append(gain * x + offset + 0.05 * torch.randn_like(x))
        ys.append(y)
    return torch.cat(xs), torch.cat(ys)


class Net(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Dropout(0.3), nn.Linear(8 * width, 10))

    def forward(self, x):
        return self.net(x)


def score(model, loader, criterion):
    model.eval()
    loss = right = n = 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            loss += criterion(out, y).item() * len(y)
            right += (out.argmax(1) == y).sum().item()
            n += len(y)
    return loss / n, right / n


def main():
    (x, y), (x_test, y_test) = labelled_and_rest(1000)
    x, y = augment(x, y, copies=3)
    dataset = TensorDataset(x, y)
    n_val = len(dataset) // 4
    train_set, val_set = random_split(dataset, [len(dataset) - n_val, n_val])
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=256)
    test_loader = DataLoader(TensorDataset(x_test, y_test), batch_size=256)
    print(len(train_set), "train", len(val_set), "val", len(x_test), "test")

    model, criterion = Net(), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
    for epoch in range(1, 15):
        model.train()
        total = 0.0
        for xb, yb in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(xb), yb)
            loss.backward()
            optimizer.step()
            total += loss.item()
        vl, va = score(model, val_loader, criterion)
        print(f"epoch {epoch:2d} train {total / len(train_loader):.4f} val {vl:.4f} acc {va:.3f}")
    print("acceptance test: loss %.4f acc %.3f" % score(model, test_loader, criterion))


main()
