# Classify short hydrophone clips: convolutional encoder, classifier warmed up first, then everything is trained.
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

CONFIG = {
    "seed": 21,
    "classes": 6,
    "clip": 96,
    "train_clips": 1200,
    "test_clips": 300,
    "batch_size": 48,
    "epochs": 11,
    "warmup_epochs": 2,
    "lr": 3e-3,
}


def clips(n, cfg, g):
    """Each class has its own pulse shape at random places of a noisy clip."""
    proto = torch.randn(cfg["classes"], 9, generator=torch.Generator().manual_seed(99))
    proto = proto / proto.norm(dim=1, keepdim=True) * 4.5
    y = torch.randint(0, cfg["classes"], (n,), generator=g)
    x = 0.5 * torch.randn(n, 1, cfg["clip"], generator=g)
    for i in range(n):
        for start in torch.randint(0, cfg["clip"] - 9, (3,), generator=g).tolist():
            x[i, 0, start:start + 9] += proto[y[i]]
    return TensorDataset(x, y)


class ClipNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(1, 8, 5, padding=2), nn.ReLU(),
            nn.Conv1d(8, 12, 5, padding=2), nn.ReLU(),
            nn.AdaptiveMaxPool1d(1), nn.Flatten(),
        )
        self.classifier = nn.Linear(12, classes)

    def forward(self, x):
        return self.classifier(self.encoder(x))


def freeze(module):
    for p in module.parameters():
        p.requires_grad = False


def unfreeze(module):
    for p in module.parameters():
        p.requires_grad = True


def run(cfg):
    torch.manual_seed(cfg["seed"])
    g = torch.Generator().manual_seed(cfg["seed"])
    train = DataLoader(clips(cfg["train_clips"], cfg, g), batch_size=cfg["batch_size"], shuffle=True)
    test = DataLoader(clips(cfg["test_clips"], cfg, g), batch_size=300)
    model = ClipNet(cfg["classes"])
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])

    freeze(model.encoder)
    for epoch in range(cfg["epochs"]):
        if epoch == cfg["warmup_epochs"]:
            print("training the whole network from here on")
            unfreeze(model.encoder)
        model.train()
        total = 0.0
        for x, y in train:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            acc = sum((model(x).argmax(1) == y).sum().item() for x, y in test) / cfg["test_clips"]
        print(f"epoch {epoch:2d} loss {total / len(train):.4f} test acc {acc:.3f}")


run(CONFIG)
