import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from sklearn.datasets import load_digits
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.manual_seed(42)
np.random.seed(42)

X, y = load_digits(return_X_y=True)
X = torch.tensor(X / 16.0, dtype=torch.float32)
noise = torch.randn(X.shape, generator=torch.Generator().manual_seed(3)) * 0.12
dataset = TensorDataset(X + noise - 0.3, torch.tensor(y))


def make_model():
    return nn.Sequential(
        nn.Linear(64, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Dropout(0.3),
        nn.Linear(96, 10),
    )


def train_one_epoch(model, loader, criterion, optimizer):
    model.train()
    running_loss = 0.0
    for inputs, targets in loader:
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        running_loss += loss.item() * inputs.size(0)
    return running_loss / len(loader.dataset)


def evaluate(model, loader, criterion):
    model.eval()
    losses, preds, labels = [], [], []
    with torch.no_grad():
        for inputs, targets in loader:
            outputs = model(inputs)
            losses.append(criterion(outputs, targets).item())
            preds.append(outputs.argmax(dim=1))
            labels.append(targets)
    preds, labels = torch.cat(preds).numpy(), torch.cat(labels).numpy()
    return np.mean(losses), (preds == labels).mean(), f1_score(labels, preds, average="macro")


criterion = nn.CrossEntropyLoss()
model = make_model()
optimizer = optim.Adam(model.parameters(), lr=1.5e-3, weight_decay=1e-4)
kfold = StratifiedKFold(n_splits=5, shuffle=True, random_state=42)
results = []
for fold, (train_idx, val_idx) in enumerate(kfold.split(X, y), start=1):
    print(f"---- fold {fold} ----")
    train_loader = DataLoader(Subset(dataset, train_idx), batch_size=24, shuffle=True)
    val_loader = DataLoader(Subset(dataset, val_idx), batch_size=128)
    for epoch in range(1, 19):
        train_loss = train_one_epoch(model, train_loader, criterion, optimizer)
        val_loss, acc, f1 = evaluate(model, val_loader, criterion)
        if epoch % 6 == 0:
            print(f"Epoch {epoch:2d} | train loss {train_loss:.4f} | val loss {val_loss:.4f} | acc {acc:.4f} | F1 {f1:.4f}")
    results.append((acc, f1))
    print(f"fold {fold}: acc {acc:.4f} F1 {f1:.4f}")
print("mean over folds: acc %.4f F1 %.4f" % tuple(np.mean(results, axis=0)))
