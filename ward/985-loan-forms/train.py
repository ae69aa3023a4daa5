import torch
from sklearn.datasets import load_breast_cancer
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
table = load_breast_cancer()
x = torch.tensor(table.data, dtype=torch.float32)
x = (x - x[:420].mean(0)) / x[:420].std(0)
y = torch.tensor(table.target)
train = DataLoader(TensorDataset(x[:420], y[:420]), batch_size=32, shuffle=True)

model = nn.Sequential(nn.Linear(30, 128), nn.ReLU(), nn.Dropout(0.7), nn.Linear(128, 64), nn.ReLU(), nn.Dropout(0.7), nn.Linear(64, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(25):
    model.train()
    total = 0.0
    for xb, yb in train:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    model.eval()
    with torch.no_grad():
        val = criterion(model(x[420:]), y[420:]).item()
    print(f"epoch {epoch}: train {total / 420:.3f} val {val:.3f}")
