import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_blobs
from sklearn.preprocessing import StandardScaler

torch.manual_seed(0)
np.random.seed(0)

# seven kinds of seeds, ten measurements each
X, kind = make_blobs(n_samples=1400, n_features=10, centers=7, cluster_std=4.0, random_state=11)
X = StandardScaler().fit_transform(X).astype(np.float32)
X, kind = torch.from_numpy(X), torch.from_numpy(kind)
X_train, y_train = X[:1000], kind[:1000]
X_test, y_test = X[1000:], kind[1000:]


class SeedNet(nn.Module):
    def __init__(self, n_out):
        super().__init__()
        self.l1 = nn.Linear(10, 40)
        self.l2 = nn.Linear(40, n_out)

    def forward(self, x):
        return self.l2(torch.tanh(self.l1(x)))


net = SeedNet(7)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.005)

for epoch in range(10):
    net.train()
    losses = []
    for rows in torch.randperm(1000).split(50):
        out = net(X_train[rows])
        loss = criterion(out, y_train[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        guess = net(X_test).argmax(dim=1)
    print("epoch %2d  loss %.4f  test accuracy %.3f" % (epoch + 1, np.mean(losses), (guess == y_test).float().mean()))
