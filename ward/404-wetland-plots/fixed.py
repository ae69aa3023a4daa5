import torch
import torch.nn as nn
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(31)

X, y = make_classification(n_samples=2648, n_features=24, n_informative=10, n_redundant=4, n_classes=5,
                           n_clusters_per_class=1, class_sep=1.6, random_state=6)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=600, random_state=0, stratify=y)
mean, std = X_tr.mean(0), X_tr.std(0)


def tensors(a, b):
    return TensorDataset(torch.tensor((a - mean) / std, dtype=torch.float32), torch.tensor(b))


train_dl = DataLoader(tensors(X_tr, y_tr), batch_size=16, shuffle=True)
test_dl = DataLoader(tensors(X_te, y_te), batch_size=300)

accumulation_steps = 8           # effective batch of 128
model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.15, momentum=0.9)

for epoch in range(6):
    model.train()
    optimizer.zero_grad()
    epoch_loss = 0.0
    for i, (xb, yb) in enumerate(train_dl):
        loss = criterion(model(xb), yb)
        epoch_loss += loss.item()
        (loss / accumulation_steps).backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
    model.eval()
    correct = 0
    with torch.no_grad():
        for xb, yb in test_dl:
            correct += (model(xb).argmax(1) == yb).sum().item()
    print(f"Epoch {epoch + 1}: loss {epoch_loss / len(train_dl):.4f}, test accuracy {correct / 600:.3f}")
