import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(14)


class ConvBackbone(nn.Module):
    def __init__(self, num_classes=100):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 20, 3, padding=1), nn.ReLU(),
            nn.Conv2d(20, 24, 3, padding=1), nn.ReLU(), nn.AdaptiveMaxPool2d(1), nn.Flatten(),
        )
        self.fc = nn.Linear(24, num_classes)

    def forward(self, x):
        return self.fc(self.features(x))


def get_model(num_classes):
    model = ConvBackbone()
    for param in model.parameters():
        param.requires_grad = False
    model.fc = nn.Linear(model.fc.in_features, num_classes)
    return model


digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1)
images = (images - images.mean()) / images.std()
labels = torch.tensor(digits.target)
perm = torch.randperm(len(labels))
train_idx, val_idx = perm[:1400], perm[1400:]

model = get_model(10)
trainable = [p for p in model.parameters() if p.requires_grad]
print("trainable parameters:", sum(p.numel() for p in trainable))
optimizer = torch.optim.Adam(trainable, lr=2e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(8):
    model.train()
    running_loss, running_corrects = 0.0, 0
    for idx in train_idx[torch.randperm(len(train_idx))].split(40):
        optimizer.zero_grad()
        outputs = model(images[idx])
        loss = criterion(outputs, labels[idx])
        loss.backward()
        optimizer.step()
        running_loss += loss.item() * len(idx)
        running_corrects += (outputs.argmax(1) == labels[idx]).sum().item()
    model.eval()
    with torch.no_grad():
        out = model(images[val_idx])
    print(f"epoch {epoch} train loss {running_loss / 1400:.4f} acc {running_corrects / 1400:.3f} | "
          f"val loss {criterion(out, labels[val_idx]):.4f} acc {(out.argmax(1) == labels[val_idx]).float().mean():.3f}")
