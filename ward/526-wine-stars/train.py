import torch
import torch.nn as nn

generator = torch.Generator().manual_seed(31)
torch.manual_seed(31)


def tastings(n):
    """Chemistry and region of a bottle, and the mean of its star ratings (1 to 5)."""
    chem = torch.randn(n, 7, generator=generator)
    region = torch.randint(0, 5, (n,), generator=generator)
    lift = torch.tensor([0.6, -0.4, 0.0, 0.3, -0.5])[region]
    quality = 0.8 * chem[:, 0] - 0.5 * chem[:, 1] * chem[:, 2] + lift
    stars = 3 + 1.6 * torch.tanh(quality) + 0.15 * torch.randn(n, generator=generator)
    return chem, region, stars.clamp(1, 5)


class StarModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.region = nn.Embedding(5, 4)
        self.fc1 = nn.Linear(11, 40)
        self.fc2 = nn.Linear(40, 40)
        self.fc3 = nn.Linear(40, 1)

    def forward(self, chem, region):
        x = torch.cat([chem, self.region(region)], dim=1)
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return torch.sigmoid(self.fc3(x)).squeeze(1)


def batches(data, size):
    order = torch.randperm(len(data[0]), generator=generator)
    for idx in order.split(size):
        yield tuple(t[idx] for t in data)


train, test = tastings(2400), tastings(500)
net = StarModel()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
l1, l2 = nn.L1Loss(), nn.MSELoss()
for epoch in range(8):
    net.train()
    seen = []
    for chem, region, stars in batches(train, 60):
        optimizer.zero_grad()
        loss = l2(net(chem, region), stars)
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    net.eval()
    with torch.no_grad():
        pred = net(test[0], test[1])
    print(f"epoch {epoch}: train mse {sum(seen) / len(seen):.4f}  test mse {l2(pred, test[2]):.4f}  test mae {l1(pred, test[2]):.3f} stars")
