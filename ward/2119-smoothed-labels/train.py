import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
SMOOTHING = 0.2
EPOCHS = 20

data = load_digits()
X = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1)
X = (X - 4.88) / 6.02
y = torch.tensor(data.target)
i_tr, i_va = train_test_split(range(len(y)), test_size=0.2, stratify=y, random_state=5)
train_dl = DataLoader(TensorDataset(X[i_tr], y[i_tr]), batch_size=32, shuffle=True)
valid_dl = DataLoader(TensorDataset(X[i_va], y[i_va]), batch_size=180)


class ResBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(ch, ch, 3, padding=1, bias=False), nn.Conv2d(ch, ch, 3, padding=1, bias=False)
        self.b1, self.b2 = nn.BatchNorm2d(ch), nn.BatchNorm2d(ch)

    def forward(self, x):
        return torch.relu(x + self.b2(self.c2(torch.relu(self.b1(self.c1(x))))))


model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
    ResBlock(16), nn.MaxPool2d(2), ResBlock(16),
    nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(64, 10),
)
criterion = nn.CrossEntropyLoss(label_smoothing=SMOOTHING)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=5e-4)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, epochs=EPOCHS, steps_per_epoch=len(train_dl))

for epoch in range(EPOCHS):
    model.train()
    running = 0.0
    for xb, yb in train_dl:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        scheduler.step()
        running += loss.item()
    model.eval()
    vloss, hits = 0.0, 0
    with torch.no_grad():
        for xb, yb in valid_dl:
            out = model(xb)
            vloss += criterion(out, yb).item() / len(valid_dl)
            hits += (out.argmax(1) == yb).sum().item()
    print(f"epoch {epoch + 1:2d}/{EPOCHS} train {running / len(train_dl):.4f} valid {vloss:.4f} accuracy {hits / len(i_va):.4f}")
