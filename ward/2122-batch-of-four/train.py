import torch
import torch.nn as nn
import torch.optim as optim
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 8.0 - 1.0
dataset = TensorDataset(images, torch.tensor(digits.target))
trainset, testset = random_split(dataset, [1437, 360], generator=torch.Generator().manual_seed(0))

batch_size = 4
trainloader = DataLoader(trainset, batch_size=batch_size, shuffle=True)
testloader = DataLoader(testset, batch_size=60, shuffle=False)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.pool = nn.MaxPool2d(2, 2)
        self.drop = nn.Dropout(0.25)
        self.fc1 = nn.Linear(24 * 2 * 2, 48)
        self.fc2 = nn.Linear(48, 10)

    def forward(self, x):
        x = self.pool(torch.relu(self.conv1(x)))
        x = self.pool(torch.relu(self.conv2(x)))
        x = self.drop(torch.flatten(x, 1))
        return self.fc2(self.drop(torch.relu(self.fc1(x))))


net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.004, momentum=0.9)
scheduler = optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, total_iters=11)

for epoch in range(12):
    net.train()
    running_loss = 0.0
    for i, (inputs, labels) in enumerate(trainloader):
        optimizer.zero_grad()
        loss = criterion(net(inputs), labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
        if i % 120 == 119:
            print(f"[{epoch + 1}, {i + 1:3d}] loss: {running_loss / 120:.3f}")
            running_loss = 0.0
    scheduler.step()
    net.eval()
    correct, test_loss = 0, 0.0
    with torch.no_grad():
        for inputs, labels in testloader:
            out = net(inputs)
            test_loss += criterion(out, labels).item() / len(testloader)
            correct += (out.argmax(1) == labels).sum().item()
    print(f"epoch {epoch + 1}: test loss {test_loss:.4f}, accuracy {correct / 360:.3f}")
print("Finished Training")
