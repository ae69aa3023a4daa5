"""Forward model of a three-joint planar arm: joint angles -> position of the gripper and of the elbow."""
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import MultiStepLR
from torch.utils.data import DataLoader, TensorDataset

LINKS = (0.9, 0.7, 0.4)


def arm(theta):
    a = torch.cumsum(theta, 1)
    pos = torch.zeros(len(theta), 2)
    joints = []
    for k, l in enumerate(LINKS):
        pos = pos + l * torch.stack([torch.cos(a[:, k]), torch.sin(a[:, k])], 1)
        joints.append(pos)
    return torch.cat([joints[1], joints[2]], 1)


def sample(n):
    theta = (torch.rand(n, 3) * 2 - 1) * 2.0
    return theta, arm(theta) + 0.03 * torch.randn(n, 4)


def train_epoch(net, loader, opt, loss_fn):
    net.train()
    acc = 0.0
    for theta, target in loader:
        opt.zero_grad(set_to_none=True)
        loss = loss_fn(net(theta), target)
        loss.backward()
        opt.step()
        acc += loss.item() * len(theta)
    return acc / len(loader.dataset)


def test_epoch(net, data, loss_fn):
    net.eval()
    with torch.no_grad():
        out = net(data[0])
        return loss_fn(out, data[1]).item(), (out - data[1])[:, 2:].norm(dim=1).mean().item()


def run(epochs=40, milestones=(28, 35)):
    torch.manual_seed(77)
    train, test = sample(12000), sample(2000)
    loader = DataLoader(TensorDataset(*train), batch_size=64, shuffle=True)
    net = nn.Sequential(nn.Linear(3, 96), nn.Tanh(), nn.Linear(96, 96), nn.Tanh(), nn.Linear(96, 4))
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    sched = MultiStepLR(opt, milestones=list(milestones), gamma=0.1)
    loss_fn = nn.MSELoss()
    for e in range(epochs):
        tr = train_epoch(net, loader, opt, loss_fn)
        te, dist = test_epoch(net, test, loss_fn)
        print(f"epoch {e:2d} lr {sched.get_last_lr()[0]:.0e} train {tr:.6f} test {te:.6f} gripper error {100 * dist:.1f} cm")
        sched.step()


if __name__ == "__main__":
    run()
