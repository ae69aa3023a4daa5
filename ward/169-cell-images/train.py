import torch
from torch import nn


class CellCounter(nn.Module):
    """Is there one, two or three cells in the picture?"""

    def __init__(self, channels=(12, 24, 24)):
        super().__init__()
        stages, c_in = [], 1
        for i, c in enumerate(channels):
            conv = nn.Conv2d(c_in, c, 3, padding=1)
            nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
            nn.init.constant_(conv.bias, -3.0 if i else 0.0)   # sparse detectors in the deeper stages
            stages += [conv, nn.ReLU()]
            if i < 2:
                stages.append(nn.AvgPool2d(2))
            c_in = c
        self.stages = nn.Sequential(*stages)
        self.head = nn.Linear(c_in, 3)

    def forward(self, x):
        return self.head(self.stages(x).mean((2, 3)))


def pictures(n, g):
    yy, xx = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
    label = torch.randint(0, 3, (n,), generator=g)
    img = 0.1 * torch.randn(n, 12, 12, generator=g)
    for k in range(3):
        cy, cx = 1.5 + 9 * torch.rand(2, n, 1, 1, generator=g)
        cell = torch.exp(-((yy - cy) ** 2 + (xx - cx) ** 2) / 2.0)
        img += cell * (label >= k)[:, None, None]
    return (img[:, None] - 0.1) / 0.25, label


def main():
    torch.manual_seed(22)
    g = torch.Generator().manual_seed(22)
    x, y = pictures(1200, g)
    xv, yv = pictures(300, g)
    net = CellCounter()
    opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    ce = nn.CrossEntropyLoss()
    for epoch in range(6):
        net.train()
        tot = 0.0
        for idx in torch.randperm(len(y)).split(40):
            opt.zero_grad()
            loss = ce(net(x[idx]), y[idx])
            loss.backward()
            opt.step()
            tot += loss.item() / 30
        net.eval()
        with torch.no_grad():
            o = net(xv)
        print(f"epoch {epoch + 1} train {tot:.4f} val {ce(o, yv).item():.4f} acc {(o.argmax(1) == yv).float().mean().item():.3f}")


main()
