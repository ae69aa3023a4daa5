import torch
from torch import nn

BATCH = 1
torch.manual_seed(30)
days = torch.randn(1500, 14)
signal = days[:, :4].sum(1) + 0.8 * days[:, 4] * days[:, 5]
demand = (signal + 1.5 * torch.randn(1500)).unsqueeze(1) / 2.5
train_x, train_y, val_x, val_y = days[:1200], demand[:1200], days[1200:], demand[1200:]


class Demand(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(14, 80), nn.Linear(80, 80), nn.Linear(80, 1)])

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        return self.layers[-1](x)


model = Demand()
optimiser = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
mse = nn.MSELoss()
for epoch in range(3):
    for rows in torch.randperm(len(train_x)).split(BATCH):
        optimiser.zero_grad()
        loss = mse(model(train_x[rows]), train_y[rows])
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        print(f"epoch {epoch + 1} val mse {mse(model(val_x), val_y).item():.3f} (spread {val_y.var().item():.3f})")
