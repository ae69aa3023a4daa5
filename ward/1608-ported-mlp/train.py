import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

# hyperparameters
learning_rate = 0.001
batch_size = 64
n_epochs = 30
n_hidden = 128
keep_prob = 0.8

torch.manual_seed(10)


class Perceptron(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.layer1 = nn.Linear(n_in, n_hidden)
        self.layer2 = nn.Linear(n_hidden, n_hidden)
        self.layer3 = nn.Linear(n_hidden, n_hidden)
        self.logits = nn.Linear(n_hidden, n_out)
        self.dropout = nn.Dropout(keep_prob)

    def forward(self, x):
        x = self.dropout(F.relu(self.layer1(x)))
        x = self.dropout(F.relu(self.layer2(x)))
        x = self.dropout(F.relu(self.layer3(x)))
        return self.logits(x)


images, labels = load_digits(return_X_y=True)
images = (images / 16.0 - 0.3) / 0.37
x_train, x_test, y_train, y_test = train_test_split(images, labels, test_size=0.25, random_state=10, stratify=labels)
x_train, x_test = torch.tensor(x_train, dtype=torch.float32), torch.tensor(x_test, dtype=torch.float32)
y_train, y_test = torch.tensor(y_train), torch.tensor(y_test)

net = Perceptron(64, 10)
optimizer = torch.optim.Adam(net.parameters(), lr=learning_rate)


def cost_and_accuracy(x, y):
    net.eval()
    with torch.no_grad():
        out = net(x)
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


for epoch in range(n_epochs):
    net.train()
    avg_cost = 0.0
    batches = torch.randperm(len(x_train)).split(batch_size)
    for idx in batches:
        optimizer.zero_grad()
        cost = F.cross_entropy(net(x_train[idx]), y_train[idx])
        cost.backward()
        optimizer.step()
        avg_cost += cost.item() / len(batches)
    if (epoch + 1) % 3 == 0:
        test_cost, test_acc = cost_and_accuracy(x_test, y_test)
        print("Epoch: %02d" % (epoch + 1), "cost={:.4f}".format(avg_cost), "test cost={:.4f}".format(test_cost), "accuracy={:.4f}".format(test_acc))
print("Optimization finished")
