import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(40)
rng = np.random.default_rng(40)

# mixes: cement, slag, ash, water, plasticiser, coarse, fine, age
N = 1300
mix = rng.uniform(0, 1, (N, 8))
cement, slag, ash, water, plast, coarse, fine, age = mix.T
strength = (35 * cement + 18 * slag + 9 * ash - 28 * water * (1 - 0.4 * plast) + 14 * np.log1p(6 * age) * (0.4 + cement)
            + 6 * np.sin(5 * coarse) * fine + rng.normal(0, 6.0, N))
mix = (mix - mix.mean(0)) / mix.std(0)
strength = (strength - strength.mean()) / strength.std()

X = torch.tensor(mix, dtype=torch.float32)
y = torch.tensor(strength, dtype=torch.float32).unsqueeze(1)
train_ds = TensorDataset(X[:800], y[:800])
test_ds = TensorDataset(X[800:], y[800:])

BATCH_SIZE = 1
train_dl = DataLoader(train_ds, batch_size=BATCH_SIZE, shuffle=True)
test_dl = DataLoader(test_ds, batch_size=250)


class StrengthNet(nn.Module):
    def __init__(self):
        super(StrengthNet, self).__init__()
        self.fc1 = nn.Linear(8, 40)
        self.fc2 = nn.Linear(40, 20)
        self.fc3 = nn.Linear(20, 1)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.fc3(x)


net = StrengthNet()
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.005, momentum=0.9, weight_decay=1e-4)

for epoch in range(12):
    net.train()
    train_loss = 0.0
    for inputs, targets in train_dl:
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        train_loss += loss.item() * inputs.size(0)
    net.eval()
    test_loss = 0.0
    with torch.no_grad():
        for inputs, targets in test_dl:
            test_loss += criterion(net(inputs), targets).item() * inputs.size(0)
    print("Epoch %2d train MSE %.4f test MSE %.4f" % (epoch + 1, train_loss / len(train_ds), test_loss / len(test_ds)))
