import math
import torch

torch.manual_seed(2)


def spiral(n):
    lab = torch.randint(0, 3, (n,))
    r = torch.rand(n) * 0.9 + 0.1
    th = 4 * r + lab * 2 * math.pi / 3 + torch.randn(n) * 0.15
    return torch.stack([r * th.cos(), r * th.sin()], 1) * 2, lab


x_train, y_train = spiral(1200)
x_test, y_test = spiral(600)
net = torch.nn.Sequential(
    torch.nn.Linear(2, 48), torch.nn.ReLU(),
    torch.nn.Linear(48, 48), torch.nn.ReLU(),
    torch.nn.Linear(48, 3))
adam = torch.optim.Adam(net.parameters(), lr=0.01)
ce = torch.nn.functional.cross_entropy
params = list(net.parameters())
step = 0
while step < 360:
    for i in torch.randperm(1200).split(100):
        for p in params:
            p.grad = None
        loss = ce(net(x_train[i]), y_train[i])
        loss.backward()
        adam.step()
        step += 1
        if step % 36 == 0:
            net.eval()
            with torch.no_grad():
                o = net(x_test)
            print("step %d loss %.4f test loss %.4f test acc %.3f" % (
                step, loss.item(), ce(o, y_test).item(), (o.argmax(1) == y_test).float().mean().item()))
            net.train()
