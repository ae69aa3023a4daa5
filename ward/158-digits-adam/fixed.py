import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset, random_split


def get_loaders(batch_size):
    d = load_digits()
    ds = TensorDataset(torch.tensor(d.images, dtype=torch.float32).unsqueeze(1) / 8 - 1, torch.tensor(d.target))
    train, val = random_split(ds, [1397, 400], generator=torch.Generator().manual_seed(0))
    return DataLoader(train, batch_size=batch_size, shuffle=True), DataLoader(val, batch_size=200)


class LeNetMini(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.classifier = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10))

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def main(lr=0.003, epochs=7):
    torch.manual_seed(11)
    train_loader, val_loader = get_loaders(40)
    model = LeNetMini()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for images, labels in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        vloss = correct = 0
        with torch.no_grad():
            for images, labels in val_loader:
                out = model(images)
                vloss += criterion(out, labels).item() / 2
                correct += (out.argmax(1) == labels).sum().item()
        print(f"Epoch [{epoch + 1}/{epochs}] loss: {total / len(train_loader):.4f} val: {vloss:.4f} acc: {correct / 400:.4f}")


if __name__ == "__main__":
    main()
