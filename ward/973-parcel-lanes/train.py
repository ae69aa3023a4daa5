import torch
from torch import nn


class Sorter:
    def __init__(self, traits, lanes):
        self.net = nn.Sequential(nn.Linear(traits, 40), nn.Tanh(), nn.Linear(40, lanes))
        self.loss = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 90.0, 1.0]))
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.05, momentum=0.9)

    def epoch(self, data, size=50):
        self.net.train()
        for ids in torch.randperm(len(data[0])).split(size):
            x, y = data[0][ids], data[1][ids]
            loss = self.loss(self.net(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def score(self, data):
        self.net.eval()
        out = self.net(data[0])
        return self.loss(out, data[1]).item(), (out.argmax(1) == data[1]).float().mean().item()


def parcels(n):
    x = torch.randn(n, 8)
    lane = (x[:, :3] + 1.1 * torch.randn(n, 3)).argmax(1)
    return x, lane


torch.manual_seed(21)
train, held_out = parcels(2000), parcels(600)
sorter = Sorter(8, 3)
for epoch in range(12):
    loss = sorter.epoch(train)
    val, acc = sorter.score(held_out)
    print(f"{epoch + 1} loss {loss:.3f} val {val:.3f} acc {acc:.3f}")
