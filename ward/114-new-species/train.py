"""Pre-train on the eight common species, then go on with the four species of the new survey."""
import torch
import torch.nn as nn

torch.manual_seed(77)
MIX = torch.randn(10, 30)


def survey(n, prototypes):
    y = torch.randint(0, len(prototypes), (n,))
    z = prototypes[y] + 1.0 * torch.randn(n, 10)
    return torch.tanh(z @ MIX / 4) * 2, y


class SpeciesNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(30, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
        self.fc = nn.Linear(24, n_classes)

    def forward(self, x):
        return self.fc(self.backbone(x))


def fit(model, optimizer, data, val, epochs, tag):
    criterion = nn.CrossEntropyLoss()
    (x, y), (xv, yv) = data, val
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(y)).split(50):
            optimizer.zero_grad()
            loss = criterion(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            out = model(xv)
        print(f"{tag} {epoch + 1:2d}: loss {total / len(y):.4f} val loss {criterion(out, yv).item():.4f} "
              f"val acc {(out.argmax(1) == yv).float().mean().item():.3f}")


common, new = torch.randn(8, 10) * 1.6, torch.randn(4, 10) * 1.6
model = SpeciesNet(n_classes=8)
fit(model, torch.optim.Adam(model.parameters(), lr=2e-3), survey(2000, common), survey(500, common), 6, "common")

# fine-tune everything with a smaller step for the backbone
optimizer = torch.optim.SGD([
    {"params": model.backbone.parameters(), "lr": 0.0005},
    {"params": model.fc.parameters(), "lr": 0.02},
], momentum=0.9)
model.fc = nn.Linear(24, 4)
fit(model, optimizer, survey(1500, new), survey(500, new), 10, "new")
