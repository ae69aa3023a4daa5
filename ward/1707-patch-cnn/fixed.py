import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

parser = argparse.ArgumentParser(description='digits training')
parser.add_argument('--epochs', default=30, type=int)
parser.add_argument('-b', '--batch-size', default=50, type=int)
parser.add_argument('--lr', '--learning-rate', default=0.02, type=float)
parser.add_argument('--momentum', default=0.9, type=float)
parser.add_argument('--wd', default=1e-4, type=float)
parser.add_argument('--print-freq', default=3, type=int)


class AverageMeter(object):
    """Computes and stores the average value"""
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


class DigitNet(nn.Module):
    def __init__(self):
        super(DigitNet, self).__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc1 = nn.Linear(24 * 4 * 4, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc2(x)


def jitter(x):
    """Shift each picture by up to one pixel."""
    dx, dy = torch.randint(-1, 2, (2,)).tolist()
    return torch.roll(x, shifts=(dx, dy), dims=(2, 3)) + 0.1 * torch.randn_like(x)


def adjust_learning_rate(optimizer, epoch, args):
    """Step decay of the initial learning rate"""
    lr = args.lr * (0.1 ** (epoch // 15))
    for param_group in optimizer.param_groups:
        param_group['lr'] = lr
    return lr


def validate(x, y, model, criterion):
    model.eval()
    with torch.no_grad():
        out = model(x)
        return criterion(out, y).item(), (out.argmax(1) == y).float().mean().item() * 100


def main():
    args = parser.parse_args()
    torch.manual_seed(17)
    d = load_digits()
    images = torch.tensor(d.images, dtype=torch.float32)[:, None] / 8 - 1
    x, x_val, y, y_val = train_test_split(images, torch.tensor(d.target), test_size=0.25, random_state=17)
    model = DigitNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), args.lr, momentum=args.momentum, weight_decay=args.wd)

    for epoch in range(args.epochs):
        lr = adjust_learning_rate(optimizer, epoch, args)
        losses, top1 = AverageMeter(), AverageMeter()
        model.train()
        for idx in torch.randperm(len(x)).split(args.batch_size):
            output = model(jitter(x[idx]))
            loss = criterion(output, y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.update(loss.item(), len(idx))
            top1.update((output.argmax(1) == y[idx]).float().mean().item() * 100, len(idx))
        if epoch % args.print_freq == 0 or epoch == args.epochs - 1:
            vloss, vtop1 = validate(x_val, y_val, model, criterion)
            print('Epoch: [{0}]  lr {1:.0e}  Loss {2:.4f}  Acc@1 {3:.2f}  |  Val Loss {4:.4f}  Acc@1 {5:.2f}'.format(
                epoch, lr, losses.avg, top1.avg, vloss, vtop1))


if __name__ == '__main__':
    main()
