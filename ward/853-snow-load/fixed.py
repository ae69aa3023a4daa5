"""Snow load on roofs; loss is summed over the batches of an epoch."""
import torch
import torch.nn as nn


class Roofs:
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randn(n, 5, generator=g)
        self.y = (self.x[:, 0] * 0.8 + torch.relu(self.x[:, 1]) - 0.3 * self.x[:, 2] ** 2 + 0.1 * torch.randn(n, generator=g)).unsqueeze(1)

    def batches(self, size):
        for idx in torch.randperm(len(self.x)).split(size):
            yield self.x[idx], self.y[idx]


def run(epochs=6):
    torch.manual_seed(1)
    data, test = Roofs(2000, 1), Roofs(400, 2)
    net = nn.Sequential(nn.Linear(5, 48), nn.Tanh(), nn.Linear(48, 1))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    criterion = nn.MSELoss()
    for epoch in range(epochs):
        net.train()
        epoch_loss = 0.0
        for x, y in data.batches(40):
            loss = criterion(net(x), y)
            epoch_loss = epoch_loss + loss.item()
            opt.zero_grad()
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            val = criterion(net(test.x), test.y).item()
        print(f"epoch {epoch} loss {float(epoch_loss) / 50:.4f} test {val:.4f}")


run()
