import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

SEED, WINDOW, MICRO, ACCUM, EPOCHS, LR = 21, 12, 24, 4, 9, 0.05
torch.manual_seed(SEED)

# hourly load of a substation: daily and weekly cycle, slow drift, noise
hours = torch.arange(1700, dtype=torch.float32)
load = (torch.sin(2 * math.pi * hours / 24) + 0.5 * torch.sin(2 * math.pi * hours / 168)
        + 0.3 * torch.sin(2 * math.pi * hours / 12 + 1) + 0.1 * torch.randn(1700))
load = (load - load.mean()) / load.std()
windows = load.unfold(0, WINDOW + 1, 1)
x, y = windows[:, :WINDOW, None], windows[:, WINDOW:]
split = 1152
train_loader = DataLoader(TensorDataset(x[:split], y[:split]), batch_size=MICRO, shuffle=True)
x_val, y_val = x[split + WINDOW:], y[split + WINDOW:]


class Forecaster(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, seq):
        _, h = self.gru(seq)
        return self.out(h[-1])


model = Forecaster()
optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=0.9)
for epoch in range(EPOCHS):
    model.train()
    optimizer.zero_grad()
    running = 0.0
    for i, (xb, yb) in enumerate(train_loader):
        loss = F.mse_loss(model(xb), yb)
        (loss / ACCUM).backward()
        running += loss.item()
        if (i + 1) % ACCUM == 0:
            optimizer.step()
    model.eval()
    with torch.no_grad():
        val = F.mse_loss(model(x_val), y_val).item()
    print(f"epoch {epoch:2d} | train mse {running / len(train_loader):.4f} | val mse {val:.4f}")
