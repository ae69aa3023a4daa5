import torch
import torch.nn as nn
import torch.optim as optim
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(0)

digits = load_digits()
x_tr, x_va, y_tr, y_va = train_test_split(digits.data / 16.0, digits.target, test_size=0.25, random_state=1, stratify=digits.target)
x_tr = torch.tensor(x_tr, dtype=torch.float32)
x_va = torch.tensor(x_va, dtype=torch.float32)
y_tr = torch.tensor(y_tr)
y_va = torch.tensor(y_va)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(64, 100)
        self.drop1 = nn.Dropout(0.5)
        self.fc2 = nn.Linear(100, 50)
        self.drop2 = nn.Dropout(0.5)
        self.fc3 = nn.Linear(50, 10)

    def forward(self, x):
        x = self.drop1(torch.relu(self.fc1(x)))
        x = self.drop2(torch.relu(self.fc2(x)))
        return self.fc3(x)


net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(net.parameters(), lr=0.003)


def check():
    with torch.no_grad():
        outputs = net(x_va)
        loss = criterion(outputs, y_va)
        _, predicted = torch.max(outputs, 1)
    return loss.item(), (predicted == y_va).sum().item() / len(y_va)


for epoch in range(16):
    net.train()
    running_loss = 0.0
    perm = torch.randperm(len(y_tr))
    for i in range(0, len(perm), 64):
        idx = perm[i:i + 64]
        optimizer.zero_grad()
        outputs = net(x_tr[idx])
        loss = criterion(outputs, y_tr[idx])
        loss.backward()
        optimizer.step()
        running_loss += loss.item() * len(idx)
    val_loss, val_acc = check()
    print("Epoch %d: loss %.4f, val loss %.4f, val accuracy %.2f%%" % (epoch + 1, running_loss / len(perm), val_loss, 100 * val_acc))
