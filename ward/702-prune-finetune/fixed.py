import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(11)

digits = load_digits()
X = torch.tensor(digits.data, dtype=torch.float32) / 16.0 - 0.3
Y = torch.tensor(digits.target)
idx = torch.randperm(len(X))
X, Y = X[idx], Y[idx]
x_tr, y_tr, x_te, y_te = X[:1400], Y[:1400], X[1400:], Y[1400:]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 128)
        self.fc2 = nn.Linear(128, 96)
        self.fc3 = nn.Linear(96, 10)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


def keep_strongest(layer, n):
    return layer.weight.detach().abs().sum(1).topk(n).indices.sort().values


def speedup(net, n1, n2):
    """L1-norm pruning of hidden units; puts physically smaller layers into the net"""
    k1 = keep_strongest(net.fc1, n1)
    k2 = keep_strongest(net.fc2, n2)
    fc1, fc2, fc3 = nn.Linear(64, n1), nn.Linear(n1, n2), nn.Linear(n2, 10)
    with torch.no_grad():
        fc1.weight.copy_(net.fc1.weight[k1])
        fc1.bias.copy_(net.fc1.bias[k1])
        fc2.weight.copy_(net.fc2.weight[k2][:, k1])
        fc2.bias.copy_(net.fc2.bias[k2])
        fc3.weight.copy_(net.fc3.weight[:, k2])
        fc3.bias.copy_(net.fc3.bias)
    net.fc1, net.fc2, net.fc3 = fc1, fc2, fc3
    return net


def count(net):
    return sum(p.numel() for p in net.parameters())


def train_epoch(net, opt):
    net.train()
    perm = torch.randperm(len(x_tr))
    total = 0
    for b in range(0, len(perm), 50):
        i = perm[b:b + 50]
        loss = F.cross_entropy(net(x_tr[i]), y_tr[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(i)
    return total / len(perm)


@torch.no_grad()
def test(net):
    net.eval()
    return (net(x_te).argmax(1) == y_te).float().mean().item()


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
print("params", count(net))
for ep in range(4):
    print("pretrain %d loss %.4f acc %.4f" % (ep, train_epoch(net, optimizer), test(net)))
dense = copy.deepcopy(net)

net = speedup(net, 24, 16)
print("after pruning: params", count(net), "acc %.4f" % test(net))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for ep in range(7):
    print("finetune %d loss %.4f acc %.4f" % (ep, train_epoch(net, optimizer), test(net)))
print("dense %.4f -> pruned %.4f" % (test(dense), test(net)))
