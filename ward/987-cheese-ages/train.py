import torch
import torch.nn.functional as F
from sklearn.datasets import load_wine
from torch import nn

torch.manual_seed(2)
wine = load_wine()
x = torch.tensor(wine.data, dtype=torch.float32)
x = (x - x.mean(0)) / x.std(0)
y = torch.tensor(wine.target)
order = torch.randperm(len(x))
train, test = order[:140], order[140:]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(13, 32)
        self.b = nn.Linear(32, 3)

    def forward(self, x):
        return self.b(F.relu(self.a(x)))


model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.5)
for epoch in range(60):
    for rows in train[torch.randperm(140)].split(20):
        loss = F.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 10 == 9:
        with torch.no_grad():
            print(f"epoch {epoch + 1} loss {loss.item():.3f} test accuracy {(model(x[test]).argmax(1) == y[test]).float().mean().item():.3f}")
