"""Which of ten symbols is on a worn button? A small convolutional net on 12x12 crops."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

LR = 0.03
MOMENTUM = 0.9
EPOCHS = 10


class Symbols(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(1, 8, 3, padding=1)
        self.b = nn.Conv2d(8, 16, 3, padding=1)
        self.hidden = nn.Linear(16 * 9, 64)
        self.out = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.a(x)), 2)
        x = F.max_pool2d(F.relu(self.b(x)), 2)
        return self.out(F.relu(self.hidden(x.flatten(1))))


def crops(templates, n):
    y = torch.randint(0, 10, (n,))
    shift = torch.randint(-1, 2, (n, 2))
    x = torch.stack([torch.roll(templates[k], tuple(s.tolist()), (0, 1)) for k, s in zip(y, shift)])
    worn = (torch.rand_like(x) < 0.85).float()
    return (x * worn + 0.25 * torch.randn_like(x)).unsqueeze(1), y


torch.manual_seed(11)
templates = (torch.rand(10, 12, 12) < 0.35).float()
x_train, y_train = crops(templates, 1600)
x_test, y_test = crops(templates, 400)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=32, shuffle=True)

net = Symbols()
opt = torch.optim.SGD(net.parameters(), lr=LR, momentum=MOMENTUM)

for epoch in range(EPOCHS):
    net.train()
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        right = (net(x_test).argmax(1) == y_test).float().mean().item()
    print("epoch", epoch, "loss", round(loss.item(), 3), "test accuracy", round(right, 3))
