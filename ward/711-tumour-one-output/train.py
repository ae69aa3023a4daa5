import numpy as np
import torch
from torch import nn
from sklearn.datasets import load_breast_cancer

torch.manual_seed(0)
np.random.seed(0)

ds = load_breast_cancer()
X = ds.data
y = ds.target
p = np.random.permutation(len(y))
X, y = X[p], y[p]
X_train, X_test = X[:430], X[430:]
mu, sigma = X_train.mean(0), X_train.std(0)
X_train = torch.FloatTensor((X_train - mu) / sigma)
X_test = torch.FloatTensor((X_test - mu) / sigma)
y_train = torch.FloatTensor(y[:430]).reshape(-1, 1)
y_test = torch.FloatTensor(y[430:]).reshape(-1, 1)


class Classifier(nn.Module):
    def __init__(self, n_in, n_hidden=20, n_out=1):
        super(Classifier, self).__init__()
        self.l1 = nn.Linear(n_in, n_hidden)
        self.l2 = nn.Linear(n_hidden, n_hidden)
        self.l3 = nn.Linear(n_hidden, n_out)
        self.act = nn.ReLU()
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        x = self.drop(self.act(self.l1(x)))
        x = self.act(self.l2(x))
        return self.l3(x)


net = Classifier(30)
loss_func = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)


def accuracy(out, target):
    return ((out > 0).float() == target).float().mean().item()


train_losses = []
for epoch in range(16):
    net.train()
    order = torch.randperm(len(X_train))
    epoch_loss = 0
    for k in range(0, len(order), 32):
        sel = order[k:k + 32]
        out = net(X_train[sel])
        loss = loss_func(out, y_train[sel])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * len(sel)
    train_losses.append(epoch_loss / len(order))
    if (epoch + 1) % 2 == 0:
        net.eval()
        with torch.no_grad():
            out = net(X_test)
        print('epoch %2d   loss %.5f   test loss %.5f   test acc %.3f' % (
            epoch + 1, train_losses[-1], loss_func(out, y_test).item(), accuracy(out, y_test)))
