import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset, random_split
from sklearn.datasets import load_digits

torch.manual_seed(42)
digits = load_digits()
X = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16.0
y = torch.tensor(digits.target, dtype=torch.long)
train_ds, val_ds = random_split(TensorDataset(X, y), [1437, 360])
train_dl = DataLoader(train_ds, batch_size=64, shuffle=True)
val_dl = DataLoader(val_ds, batch_size=360)

net = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
    nn.Flatten(), nn.Linear(128, 10))
EPOCHS = 8
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
optimizer = optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
scheduler = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.15, epochs=EPOCHS, steps_per_epoch=len(train_dl))

for epoch in range(EPOCHS):
    net.train()
    tl = 0.0
    for xb, yb in train_dl:
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(net(xb), yb)
        loss.backward()
        optimizer.step()
        scheduler.step()
        tl += loss.item()
    net.eval()
    with torch.no_grad():
        for xb, yb in val_dl:
            out = net(xb)
            vl = criterion(out, yb).item()
            acc = (out.argmax(1) == yb).float().mean().item()
    print(f"epoch {epoch + 1} lr {scheduler.get_last_lr()[0]:.5f} train {tl / len(train_dl):.4f} val {vl:.4f} acc {acc:.3f}")
