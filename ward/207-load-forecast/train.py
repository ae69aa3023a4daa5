import math
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(11)

# two years of synthetic 'daily load', weekly + monthly season and AR noise
T = 1500
t = torch.arange(T, dtype=torch.float32)
noise = torch.zeros(T)
for i in range(1, T):
    noise[i] = 0.6 * noise[i - 1] + 0.15 * torch.randn(1).item()
series = torch.sin(2 * math.pi * t / 7) + 0.7 * torch.sin(2 * math.pi * t / 30 + 1) + noise
mean, std = series[:1200].mean(), series[:1200].std()
series = (series - mean) / std


class Windows(Dataset):
    def __init__(self, s, length=28):
        self.s, self.length = s, length

    def __len__(self):
        return len(self.s) - self.length

    def __getitem__(self, i):
        return self.s[i:i + self.length].unsqueeze(-1), self.s[i + self.length].unsqueeze(-1)


class Forecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h, _ = self.lstm(x)
        return self.out(h[:, -1])


# chronological order is kept
train_loader = DataLoader(Windows(series[:1200]), batch_size=64, shuffle=False)
val_loader = DataLoader(Windows(series[1200:]), batch_size=300, shuffle=False)
model = Forecaster()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
loss_fn = nn.MSELoss()

for epoch in range(1, 13):
    model.train()
    losses = []
    for x, y in train_loader:
        loss = loss_fn(model(x), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        vs = [loss_fn(model(x), y).item() for x, y in val_loader]
    print(f"epoch {epoch:2d} train {sum(losses) / len(losses):.4f} val {sum(vs) / len(vs):.4f}")
