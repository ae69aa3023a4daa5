import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

torch.manual_seed(16)
X, y = load_digits(return_X_y=True)
X = (torch.tensor(X, dtype=torch.float32) - 5) / 6
y = torch.tensor(y)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=16, stratify=y)

EPOCHS = 13
BATCH = 32

model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, 10))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=1e-3)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.92)

for epoch in range(EPOCHS):
    model.train()
    perm = torch.randperm(len(X_train))
    epoch_loss = 0.0
    for i in range(0, len(perm), BATCH):
        idx = perm[i:i + BATCH]
        optimizer.zero_grad()
        loss = criterion(model(X_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * len(idx)
    scheduler.step()
    model.eval()
    with torch.no_grad():
        logits = model(X_test)
        test_loss = criterion(logits, y_test).item()
        test_acc = (logits.argmax(1) == y_test).float().mean().item()
    print(f"Epoch {epoch + 1:02d}/{EPOCHS} loss={epoch_loss / len(perm):.4f} test_loss={test_loss:.4f} test_acc={test_acc:.4f}")
