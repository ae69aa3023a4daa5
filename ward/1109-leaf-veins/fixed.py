import torch
import torch.nn as nn
import torch.optim as optim
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset, random_split


def conv_bn(cin, cout, stride=1):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class VeinNet(nn.Module):
    """VGG-like, narrow, for 8x8 crops."""

    def __init__(self, n_classes, width=12, depth=8):
        super().__init__()
        layers = [conv_bn(1, width)]
        for i in range(depth):
            layers.append(conv_bn(width, width, stride=2 if i in (2, 5) else 1))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(width * 4, n_classes)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def get_data(seed):
    d = load_digits()
    x = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1)
    x = (x - x.mean()) / x.std()
    full = TensorDataset(x, torch.tensor(d.target))
    return random_split(full, [1400, len(full) - 1400], generator=torch.Generator().manual_seed(seed))


def evaluate(model, loader, criterion):
    model.eval()
    loss, correct, n = 0.0, 0, 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            loss += criterion(out, y).item() * len(y)
            correct += (out.argmax(1) == y).sum().item()
            n += len(y)
    return loss / n, correct / n


def train(model, loader, val_loader, criterion, optimizer, epochs):
    val_loss, val_acc = evaluate(model, val_loader, criterion)
    print(f"before training: val loss {val_loss:.3f}, val acc {val_acc:.3f}")
    best = 0.0
    for epoch in range(1, epochs + 1):
        model.train()
        running = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            running += loss.item()
        val_loss, val_acc = evaluate(model, val_loader, criterion)
        best = max(best, val_acc)
        print(f"epoch {epoch}: train loss {running / len(loader):.3f}, val loss {val_loss:.3f}, val acc {val_acc:.3f}")
    return best


if __name__ == "__main__":
    torch.manual_seed(0)
    train_set, val_set = get_data(0)
    model = VeinNet(10)
    best = train(model, DataLoader(train_set, 64, shuffle=True), DataLoader(val_set, 200), nn.CrossEntropyLoss(),
                 optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4), epochs=5)
    print(f"best accuracy {best:.3f}")
