import torch
import torch.nn as nn

torch.manual_seed(88)

# age of an ice sample from 9 isotope / conductivity measurements
n = 2000
age = torch.rand(n)
w = torch.randn(3, 9)
meas = torch.stack([age, torch.sin(9 * age), torch.cos(5 * age)], 1) @ w + 0.08 * torch.randn(n, 9)
meas = (meas - meas.mean(0)) / meas.std(0)
age = (age - 0.5) / 0.29

net = nn.Sequential()
net.add_module("in", nn.Linear(9, 64))
net.add_module("act1", nn.ReLU())
net.add_module("mid", nn.Linear(64, 32))
net.add_module("act2", nn.ReLU())
net.add_module("out", nn.Linear(32, 1))

optimizer = torch.optim.Adadelta(net.parameters(), lr=0.1)
criterion = nn.L1Loss()

x_tr, x_va = meas[:1600], meas[1600:]
y_tr, y_va = age[:1600, None], age[1600:, None]

for epoch in range(20):
    net.train()
    s = 0.0
    order = torch.randperm(1600)
    for k in range(0, 1600, 50):
        optimizer.zero_grad()
        loss = criterion(net(x_tr[order[k:k + 50]]), y_tr[order[k:k + 50]])
        loss.backward()
        optimizer.step()
        s += loss.item()
    net.eval()
    with torch.no_grad():
        v = criterion(net(x_va), y_va).item()
    print("epoch {:2d}  mae {:.4f}  val_mae {:.4f}".format(epoch, s / 32, v))
