"""Lens scratches: pretrained on rendered pictures, then adapted to camera pictures with the lower layers frozen and a small rate."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(17)


def pictures(count, camera, seed):
    g = torch.Generator().manual_seed(seed)
    kind = torch.randint(0, 4, (count,), generator=g)
    y, x = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
    images = []
    for k in kind.tolist():
        a = 8 + 2 * torch.randn(1, generator=g)
        shape = ((x - a).abs(), (y - a).abs(), (x - y + a - 8).abs(), (x + y - a - 8).abs())[k] < 1.5
        image = shape.float() * (0.8 if camera else 1.0) + (0.15 if camera else 0.0) * x / 16
        images.append(image + (0.22 if camera else 0.12) * torch.randn(16, 16, generator=g))
    return TensorDataset(torch.stack(images).unsqueeze(1), kind)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(12, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.classify = nn.Linear(16 * 16, 4)

    def forward(self, x):
        return self.classify(self.features(x).flatten(1))


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    right = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return right / len(loader.dataset)


def run(model, loader, parameters, lr, epochs):
    optimizer = torch.optim.Adam(parameters, lr=lr)
    criterion = nn.CrossEntropyLoss()
    for _ in range(epochs):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
    return loss.item()


rendered = DataLoader(pictures(1600, False, 1), batch_size=50, shuffle=True)
camera = DataLoader(pictures(800, True, 2), batch_size=50, shuffle=True)
rendered_test = DataLoader(pictures(500, False, 3), batch_size=250)
camera_test = DataLoader(pictures(500, True, 4), batch_size=250)

model = Net()
last = run(model, rendered, model.parameters(), 2e-3, 5)
print(f"pretrained: loss {last:.3f}, rendered {accuracy(model, rendered_test):.3f}, camera {accuracy(model, camera_test):.3f}")

for p in model.features.parameters():
    p.requires_grad_(False)
last = run(model, camera, model.classify.parameters(), 3e-4, 4)
print(f"adapted: loss {last:.3f}, rendered {accuracy(model, rendered_test):.3f}, camera {accuracy(model, camera_test):.3f}")
