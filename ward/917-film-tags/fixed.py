"""Tags of films (several per film) from cast and crew statistics."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(40)
TAGS = ["drama", "comedy", "crime", "romance", "war"]


def films(n):
    x = torch.randn(n, 24)
    scores = x @ mixing + 0.6 * torch.tanh(x[:, :5] * x[:, 5:10]) + 0.7 * torch.randn(n, 5)
    return x, (scores > 0.3).float()


mixing = torch.randn(24, 5) * 0.25
dataset = TensorDataset(*films(1600))
train_set, val_set = random_split(dataset, [1200, 400])
test_x, test_y = films(600)

train_loader = DataLoader(train_set, batch_size=40, shuffle=True)
val_loader = DataLoader(val_set, batch_size=100)

model = nn.Sequential(nn.Linear(24, 96), nn.ReLU(), nn.Linear(96, len(TAGS)))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
criterion = nn.BCEWithLogitsLoss()

for epoch in range(7):
    model.train()
    train_loss = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        train_loss += loss.item()
    model.eval()
    val_loss, right = 0.0, 0.0
    with torch.no_grad():
        for x, y in val_loader:
            out = model(x)
            val_loss += criterion(out, y).item()
            right += ((out > 0).float() == y).float().mean().item()
    print(f"epoch {epoch + 1}: train loss {train_loss / len(train_loader):.4f}, val loss {val_loss / len(val_loader):.4f}, val acc {right / len(val_loader):.3f}")

with torch.no_grad():
    out = model(test_x)
print(f"festival films: loss {criterion(out, test_y).item():.4f}, acc {((out > 0).float() == test_y).float().mean().item():.3f}")
