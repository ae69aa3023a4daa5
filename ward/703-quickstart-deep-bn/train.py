import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
device = "cpu"


def spirals(n, arms=5):
    k = torch.randint(0, arms, (n,))
    r = torch.rand(n) * 0.9 + 0.1
    t = 2.6 * r + k * 2 * torch.pi / arms + 0.08 * torch.randn(n)
    pts = torch.stack([r * torch.cos(t), r * torch.sin(t)], 1) / 0.42
    # a few distractor channels
    return torch.cat([pts, torch.randn(n, 4)], 1), k


training_data = TensorDataset(*spirals(4000))
test_data = TensorDataset(*spirals(1000))
train_dataloader = DataLoader(training_data, batch_size=100, shuffle=True)
test_dataloader = DataLoader(test_data, batch_size=500)


class NeuralNetwork(nn.Module):
    def __init__(self, width=40, depth=9):
        super().__init__()
        layers = []
        size = 6
        for _ in range(depth):
            layers += [nn.Linear(size, width), nn.BatchNorm1d(width), nn.ReLU()]
            size = width
        self.linear_relu_stack = nn.Sequential(*layers, nn.Linear(width, 5))

    def forward(self, x):
        return self.linear_relu_stack(x)


model = NeuralNetwork().to(device)
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)


def train(dataloader, model, loss_fn, optimizer):
    size = len(dataloader.dataset)
    for batch, (X, y) in enumerate(dataloader):
        X, y = X.to(device), y.to(device)
        pred = model(X)
        loss = loss_fn(pred, y)

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        if batch % 20 == 0:
            print(f"loss: {loss.item():>7f}  [{batch * len(X):>5d}/{size:>5d}]")


def test(dataloader, model, loss_fn):
    size = len(dataloader.dataset)
    model.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for X, y in dataloader:
            X, y = X.to(device), y.to(device)
            pred = model(X)
            test_loss += loss_fn(pred, y).item()
            correct += (pred.argmax(1) == y).type(torch.float).sum().item()
    test_loss /= len(dataloader)
    print(f"Test Error: Accuracy: {100 * correct / size:>0.1f}%, Avg loss: {test_loss:>8f}")


print("untrained")
test(test_dataloader, model, loss_fn)
epochs = 5
for t in range(epochs):
    print(f"Epoch {t + 1}\n-------------------------------")
    train(train_dataloader, model, loss_fn, optimizer)
    test(test_dataloader, model, loss_fn)
print("Done!")
