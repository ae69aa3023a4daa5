import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


def load(seed=0):
    d = load_digits()
    images = d.images.astype("float32")[:, None] / 16.0
    images = (images - images.mean()) / images.std()
    ids = np.random.default_rng(seed).permutation(len(images))
    tr, te = ids[:1440], ids[1440:]
    t = torch.from_numpy
    return (t(images[tr]), t(d.target[tr])), (t(images[te]), t(d.target[te]))


class ConvNet(nn.Module):
    def __init__(self, channels=(12, 24, 32), classes=10):
        super().__init__()
        prev, convs = 1, []
        for c in channels:
            convs.append(nn.Conv2d(prev, c, 3, padding=1))
            prev = c
        self.convs = nn.ModuleList(convs)
        self.fc1 = nn.Linear(prev * 4, 64)
        self.fc2 = nn.Linear(64, classes)

    def forward(self, x):
        for i, conv in enumerate(self.convs):
            x = F.relu(conv(x))
            if i < 2:
                x = F.max_pool2d(x, 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc2(x)


def initialise(net):
    with torch.no_grad():
        for name, p in net.named_parameters():
            if p.dim() > 1:
                fan_in = p[0].numel()
                p.normal_().mul_((2.0 / fan_in) ** 0.5)
            else:
                p.zero_()
    return net


class Trainer:
    def __init__(self, net, train, test, lr=0.02, batch=48):
        self.net, self.train_set, self.test_set, self.batch = net, train, test, batch
        self.optim = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9, weight_decay=1e-4)

    def step(self, x, y):
        self.optim.zero_grad()
        loss = F.cross_entropy(self.net(x), y)
        loss.backward()
        self.optim.step()
        return loss.item()

    def evaluate(self):
        self.net.eval()
        x, y = self.test_set
        with torch.no_grad():
            out = self.net(x)
        return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()

    def fit(self, epochs):
        x, y = self.train_set
        for epoch in range(epochs):
            self.net.train()
            order = torch.randperm(len(x))
            losses = [self.step(x[b], y[b]) for b in order.split(self.batch)]
            vl, va = self.evaluate()
            print(f"epoch {epoch}: train={np.mean(losses):.4f} test={vl:.4f} acc={va:.3f}")


if __name__ == "__main__":
    torch.manual_seed(3)
    train, test = load()
    Trainer(initialise(ConvNet()), train, test).fit(6)
