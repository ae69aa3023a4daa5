import torch
import torch.nn as nn
from sklearn.datasets import load_breast_cancer
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(33)


class Layer(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.fc = nn.Linear(n_in, n_out)

    def forward(self, x):
        return torch.sigmoid(self.fc(x))


class DeepMLP(nn.Module):
    def __init__(self, n_in=30, width=32, depth=8):
        super().__init__()
        self.first = Layer(n_in, width)
        self.middle = nn.Sequential(*[Layer(width, width) for _ in range(depth - 1)])
        self.last = nn.Linear(width, 2)

    def forward(self, x):
        return self.last(self.middle(self.first(x)))


x, y = load_breast_cancer(return_X_y=True)
x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
order = torch.randperm(len(y))
x, y = x[order], y[order]
x = (x - x[:400].mean(0)) / x[:400].std(0)
train_loader = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=40, shuffle=True)

model = DeepMLP()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.01)
criterion = nn.CrossEntropyLoss()
for epoch in range(14):
    model.train()
    total = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() / len(train_loader)
    model.eval()
    with torch.no_grad():
        out = model(x[400:])
    print("epoch %2d  loss %.4f  val loss %.4f  val acc %.3f" % (
        epoch, total, criterion(out, y[400:]).item(), (out.argmax(1) == y[400:]).float().mean().item()))
