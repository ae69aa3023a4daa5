"""Transfer learning: a CNN trained on digits 0-5 is frozen, only a new head learns digits 6-9."""
import io

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset


class ConvNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                      nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.classifier = nn.Linear(128, n_classes)

    def forward(self, x):
        return self.classifier(self.features(x))


def loaders(classes, seed=0):
    d = load_digits()
    keep = [i for i, t in enumerate(d.target) if t in classes]
    X = torch.tensor(d.images[keep], dtype=torch.float32).unsqueeze(1) / 16
    y = torch.tensor([classes.index(t) for t in d.target[keep]])
    a, b, c, e = train_test_split(X, y, test_size=0.25, random_state=seed, stratify=y)
    return DataLoader(TensorDataset(a, c), batch_size=25, shuffle=True), DataLoader(TensorDataset(b, e), batch_size=200)


def fit(model, train, val, epochs, lr, name):
    params = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.Adam(params, lr=lr)
    print(f"{name}: {sum(p.numel() for p in params)} trainable of {sum(p.numel() for p in model.parameters())}")
    for epoch in range(1, epochs + 1):
        model.train()
        s = 0.0
        for x, y in train:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            s += loss.item()
        model.eval()
        with torch.no_grad():
            outs = [(model(x), y) for x, y in val]
            vl = sum(F.cross_entropy(o, y).item() for o, y in outs) / len(outs)
            acc = torch.cat([(o.argmax(1) == y).float() for o, y in outs]).mean().item()
        if epoch % 2 == 0:
            print(f"  epoch {epoch:2d} train {s / len(train):.4f} val {vl:.4f} acc {acc:.3f}")


def main():
    torch.manual_seed(33)
    base = ConvNet(6)
    fit(base, *loaders([0, 1, 2, 3, 4, 5]), epochs=12, lr=1e-3, name="base task")
    buffer = io.BytesIO()
    torch.save(base.state_dict(), buffer)
    buffer.seek(0)

    model = ConvNet(4)
    weights = {k: v for k, v in torch.load(buffer).items() if not k.startswith("classifier")}
    result = model.load_state_dict(weights, strict=False)
    print("not in checkpoint:", result.missing_keys)
    for p in model.features.parameters():
        p.requires_grad = False
    fit(model, *loaders([6, 7, 8, 9]), epochs=24, lr=4e-3, name="new head")


if __name__ == "__main__":
    main()
