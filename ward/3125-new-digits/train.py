"""Transfer: features learnt on the digits 0-4 are fine-tuned, gently, to tell 5-9 apart."""
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


def backbone():
    return nn.Sequential(nn.Conv2d(1, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 48, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(48, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())


def split(images, labels, wanted):
    keep = torch.tensor([l in wanted for l in labels.tolist()])
    x, y = images[keep], labels[keep] - min(wanted)
    order = torch.randperm(len(y))
    cut = int(0.75 * len(y))
    make = lambda ids, shuffle: DataLoader(TensorDataset(x[ids], y[ids]), batch_size=32, shuffle=shuffle)
    return make(order[:cut], True), make(order[cut:], False)


def fit(model, optimizer, loaders, epochs, name):
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for epoch in range(1, epochs + 1):
        model.train()
        seen = total = 0
        for x, y in loaders[0]:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total, seen = total + loss.item() * len(y), seen + len(y)
        schedule.step()
        model.eval()
        vl = hit = n = 0
        with torch.no_grad():
            for x, y in loaders[1]:
                out = model(x)
                vl += nn.functional.cross_entropy(out, y, reduction="sum").item()
                hit += (out.argmax(1) == y).sum().item()
                n += len(y)
        print(f"{name} epoch {epoch:2d}: train {total / seen:.4f}  val {vl / n:.4f}  acc {hit / n:.3f}")


torch.manual_seed(6)
d = load_digits()
images, labels = (torch.tensor(d.images, dtype=torch.float32)[:, None] - 4.9) / 6.0, torch.tensor(d.target)

features = backbone()
source = nn.Sequential(features, nn.Linear(256, 5))
fit(source, torch.optim.Adam(source.parameters(), lr=1e-3), split(images, labels, range(5)), 10, "source")

target = nn.Sequential(features, nn.Linear(256, 5))
optimizer = torch.optim.AdamW([{"params": features.parameters(), "lr": 3e-4}, {"params": target[1].parameters(), "lr": 2e-3}], weight_decay=0.01)
fit(target, optimizer, split(images, labels, range(5, 10)), 30, "target")
