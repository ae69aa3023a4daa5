import torch
import torch.nn as nn
from sklearn.datasets import make_blobs
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(6)


class FeedForward(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, x):
        for linear in self.linears:
            x = torch.relu(linear(x))
        return x


def soil(n):
    X, y = make_blobs(n, n_features=6, centers=12, cluster_std=2.2, random_state=4)
    X = (X - X.mean(0)) / X.std(0)
    return torch.tensor(X, dtype=torch.float32), torch.tensor(y)


X, y = soil(2000)
train = DataLoader(TensorDataset(X[:1600], y[:1600]), batch_size=40, shuffle=True)
model = FeedForward([6, 48, 48, 12])
opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
ce = nn.CrossEntropyLoss()
for epoch in range(7):
    model.train()
    total = 0
    for xb, yb in train:
        opt.zero_grad()
        loss = ce(model(xb), yb)
        loss.backward()
        opt.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        out = model(X[1600:])
    print(f"epoch {epoch + 1}/7 - loss: {total / len(train):.4f} - val_loss: {ce(out, y[1600:]):.4f} - val_acc: {(out.argmax(1) == y[1600:]).float().mean():.3f}")
