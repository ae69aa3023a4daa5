import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)
x, y = load_digits(return_X_y=True)
x_train, x_val, y_train, y_val = train_test_split(x / 16.0, y, test_size=0.25, random_state=4)
train_set = TensorDataset(torch.tensor(x_train, dtype=torch.float32), torch.tensor(y_train))
val_set = TensorDataset(torch.tensor(x_val, dtype=torch.float32), torch.tensor(y_val))
train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
val_loader = DataLoader(val_set, batch_size=256)

model = nn.Sequential(
    nn.Linear(64, 128),
    nn.ReLU(),
    nn.Dropout(0.2),
    nn.Linear(128, 64),
    nn.ReLU(),
    nn.Dropout(0.2),
    nn.Linear(64, 10),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(20):
    model.train()
    total = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    model.eval()
    with torch.no_grad():
        val_loss = sum(criterion(model(xb), yb).item() * len(xb) for xb, yb in val_loader) / len(val_set)
        correct = sum((model(xb).argmax(1) == yb).sum().item() for xb, yb in val_loader) / len(val_set)
    print(f"epoch {epoch:2d}  train {total / len(train_set):.4f}  val {val_loss:.4f}  acc {correct:.3f}")
