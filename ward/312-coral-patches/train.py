import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(100)


def patches(n):
    # 12x12 colour patches: 0 = healthy, 1 = bleached, 2 = algae, 3 = sand
    y = torch.randint(0, 4, (n,))
    base = torch.tensor([[0.6, 0.4, 0.4], [0.8, 0.8, 0.8], [0.3, 0.6, 0.3], [0.75, 0.7, 0.5]])[y]
    freq = torch.tensor([2.5, 2.5, 1.2, 0.3])[y].view(-1, 1, 1)
    g = torch.arange(12.)
    tex = 0.25 * torch.sin(freq * g.view(1, -1, 1)) * torch.cos(freq * g.view(1, 1, -1))
    light = 0.2 * torch.randn(n, 1, 1, 1)
    img = base.view(n, 3, 1, 1) + tex.unsqueeze(1) + light + 0.45 * torch.randn(n, 3, 12, 12)
    return (img - 0.58) / 0.3, y


class PatchNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(3, 8, 3, padding=1)
        self.c2 = nn.Conv2d(8, 16, 3, padding=1)
        self.f1 = nn.Linear(16 * 9, 40)
        self.f2 = nn.Linear(40, 4)
        self.drop2d = nn.Dropout2d(0.3)
        self.drop = nn.Dropout(0.6)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = self.drop2d(F.max_pool2d(F.relu(self.c2(x)), 2))
        x = self.drop(F.relu(self.f1(x.flatten(1))))
        return self.f2(x)


def test(net, loader):
    net.eval
    correct, loss, n = 0, 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            out = net(x)
            loss += F.cross_entropy(out, y, reduction="sum").item()
            correct += (out.argmax(1) == y).sum().item()
            n += len(y)
    return loss / n, correct / n


train_loader = DataLoader(TensorDataset(*patches(1500)), batch_size=64, shuffle=True)
test_loader = DataLoader(TensorDataset(*patches(500)), batch_size=125)
net = PatchNet()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 9)

for ep in range(1, 9):
    net.train()
    run = 0.0
    for x, y in train_loader:
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
        run += loss.item()
    sched.step()
    tl, ta = test(net, test_loader)
    print(f"ep {ep} | train {run / len(train_loader):.4f} | test {tl:.4f} | acc {100 * ta:.1f}%")
