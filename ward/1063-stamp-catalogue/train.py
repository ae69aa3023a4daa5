import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(33)
np.random.seed(33)

# ---- data: the test pages are catalogued number by number
digits = load_digits()
order = np.random.permutation(len(digits.target))
train_rows, test_rows = order[:1400], order[1400:]
test_rows = test_rows[np.argsort(digits.target[test_rows], kind="stable")]


def as_dataset(rows):
    images = torch.tensor(digits.images[rows] / 16.0, dtype=torch.float32).unsqueeze(1)
    return TensorDataset(images, torch.tensor(digits.target[rows]))


trainloader = DataLoader(as_dataset(train_rows), batch_size=50, shuffle=True)
testloader = DataLoader(as_dataset(test_rows), batch_size=20, shuffle=False)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(12)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(24)
        self.pool = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(24 * 2 * 2, 48)
        self.bn3 = nn.BatchNorm1d(48)
        self.fc2 = nn.Linear(48, 10)

    def forward(self, x):
        x = self.pool(torch.relu(self.bn1(self.conv1(x))))
        x = self.pool(torch.relu(self.bn2(self.conv2(x))))
        x = torch.relu(self.bn3(self.fc1(x.flatten(1))))
        return self.fc2(x)


net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.05, momentum=0.9)


def train(epoch):
    net.train()
    running_loss, correct = 0.0, 0
    for inputs, labels in trainloader:
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
        correct += (outputs.argmax(1) == labels).sum().item()
    print("[epoch %d] train loss: %.3f acc: %.3f" % (epoch + 1, running_loss / len(trainloader), correct / len(train_rows)))


def test():
    net.eval
    loss, correct = 0.0, 0
    with torch.no_grad():
        for inputs, labels in testloader:
            outputs = net(inputs)
            loss += criterion(outputs, labels).item()
            correct += (outputs.argmax(1) == labels).sum().item()
    print("          test loss:  %.3f acc: %.3f" % (loss / len(testloader), correct / len(test_rows)))


for epoch in range(5):
    train(epoch)
    test()
print("Finished Training")
