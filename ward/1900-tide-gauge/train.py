"""Water level one hour ahead, from the last day of a tide gauge."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)
rng = np.random.default_rng(4)

hours = np.arange(2600)
level = 1.2 * np.sin(2 * np.pi * hours / 12.42) + 0.4 * np.sin(2 * np.pi * hours / 25.82 + 1) + 0.2 * np.sin(hours / 300)
level = torch.tensor(level + 0.08 * rng.standard_normal(len(hours)), dtype=torch.float32)

DAY = 24
windows = level.unfold(0, DAY + 1, 1)
past, following = windows[:, :DAY, None], windows[:, DAY:]
split = 2000
train = DataLoader(TensorDataset(past[:split], following[:split]), batch_size=50, shuffle=True)
held_out = past[split:], following[split:]


class Gauge(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(1, 40, batch_first=True)
        self.head = nn.Linear(40, 1)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])


model = Gauge()
mse = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-5)

for epoch in range(12):
    model.train()
    total = 0.0
    for x, y in train:
        optimizer.zero_grad()
        loss = mse(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        print(f"epoch {epoch + 1:2d}  train {total / len(train):.4f}  held out {mse(model(held_out[0]), held_out[1]).item():.4f}")
