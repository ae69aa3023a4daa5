"""Plant disease from leaf measurements (a table), with a checkpoint of the best epoch."""

import copy

import torch
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class LeafNet(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(features, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Dropout(0.5),
            nn.Linear(96, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Dropout(0.5),
        )
        self.head = nn.Linear(96, classes)

    def forward(self, x):
        return self.head(self.body(x))


def load():
    x, y = make_classification(3600, 30, n_informative=14, n_redundant=6, n_classes=5, class_sep=1.6, random_state=2)
    x = StandardScaler().fit_transform(x)
    data = TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y))
    return random_split(data, [2800, 800], generator=torch.Generator().manual_seed(2))


@torch.inference_mode()
def assess(model, loader):
    loss, right, count = 0.0, 0, 0
    for x, y in loader:
        out = model(x)
        loss += nn.functional.cross_entropy(out, y, reduction="sum").item()
        right += (out.argmax(1) == y).sum().item()
        count += len(y)
    return loss / count, right / count


def main(epochs=20):
    torch.manual_seed(2)
    train_set, valid_set = load()
    train, valid = DataLoader(train_set, 64, shuffle=True), DataLoader(valid_set, 100)
    model = LeafNet(30, 5)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-3)
    best, kept = 0.0, None
    for epoch in range(1, epochs + 1):
        total = 0.0
        for x, y in train:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
        valid_loss, accuracy = assess(model, valid)
        if accuracy > best:
            best, kept = accuracy, copy.deepcopy(model.state_dict())
        print(f"{epoch:2d}/{epochs} train {total / len(train_set):.4f} valid {valid_loss:.4f} accuracy {accuracy:.4f}")
    model.load_state_dict(kept)
    print(f"best accuracy {best:.4f}")


if __name__ == "__main__":
    main()
