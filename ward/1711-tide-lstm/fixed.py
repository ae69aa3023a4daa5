import math
import torch
import torch.nn as nn

torch.manual_seed(12)

# hourly tide gauge: four constituents plus weather noise
periods = [12.42, 12.0, 25.82, 23.93]
heights = [1.0, 0.35, 0.3, 0.2]
hours = torch.arange(6000, dtype=torch.float32)
level = sum(h * torch.cos(2 * math.pi * hours / p + i) for i, (p, h) in enumerate(zip(periods, heights)))
level = level + 0.08 * torch.randn(len(hours))
level = (level - level[:4800].mean()) / level[:4800].std()

SEQ, AHEAD = 36, 3


def windows(series, stride):
    starts = range(0, len(series) - SEQ - AHEAD, stride)
    x = torch.stack([series[s:s + SEQ] for s in starts]).unsqueeze(-1)
    y = torch.stack([series[s + SEQ + AHEAD - 1] for s in starts]).unsqueeze(-1)
    return x, y


class TideLSTM(nn.Module):
    def __init__(self, hidden_size=32):
        super().__init__()
        self.lstm = nn.LSTM(input_size=1, hidden_size=hidden_size, batch_first=True)
        self.fc = nn.Linear(hidden_size, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1])


train_x, train_y = windows(level[:4800], stride=3)
valid_x, valid_y = windows(level[4800:], stride=3)
print("train windows", tuple(train_x.shape), "valid windows", tuple(valid_x.shape))

model = TideLSTM()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=1e-5)

best = float("inf")
for epoch in range(1, 21):
    model.train()
    epoch_loss = 0.0
    for batch in torch.randperm(len(train_x)).split(40):
        optimizer.zero_grad()
        loss = criterion(model(train_x[batch]), train_y[batch])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        epoch_loss += loss.item() * len(batch)
    model.eval()
    with torch.no_grad():
        pred = model(valid_x)
        val = criterion(pred, valid_y).item()
    best = min(best, val)
    if epoch % 2 == 0:
        print(f"epoch {epoch:2d}: loss {epoch_loss / len(train_x):.4f}  valid {val:.4f}  "
              f"(best {best:.4f})  spread of predictions {pred.std().item():.3f}")

naive = ((valid_x[:, -1] - valid_y) ** 2).mean().item()
print(f"persistence forecast: {naive:.4f}")
