import torch
import torch.nn as nn

torch.manual_seed(19)
STEPS, CHANNELS, KINDS = 12, 3, 4


def recordings(n):
    """Shaker recordings, time first like the logger writes them: (time, sample, channel)."""
    kind = torch.randint(0, KINDS, (n,))
    t = torch.arange(STEPS)[:, None, None].float()
    freq = 0.3 + 0.25 * kind[None, :, None].float()
    shift = torch.rand(1, n, CHANNELS)
    x = torch.sin(freq * t + shift) + 0.15 * torch.randn(STEPS, n, CHANNELS)
    return x, kind


class ShakerNet(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.lstm = nn.LSTM(CHANNELS, hidden)
        self.fc = nn.Sequential(nn.Linear(STEPS * hidden, 32), nn.ReLU(), nn.Linear(32, KINDS))

    def forward(self, x):
        out, _ = self.lstm(x)                               # (time, batch, hidden)
        out = out.transpose(0, 1).reshape(x.size(1), -1)
        return self.fc(out)


X, y = recordings(1500)
X_val, y_val = recordings(300)
model = ShakerNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(5):
    model.train()
    total = 0.0
    for idx in torch.randperm(1500).split(30):
        optimizer.zero_grad()
        loss = criterion(model(X[:, idx]), y[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() / 50
    model.eval()
    with torch.no_grad():
        parts = [model(v) for v in X_val.split(30, dim=1)]
        pred = torch.cat(parts)
    print(f"epoch {epoch + 1} loss {total:.4f} val loss {criterion(pred, y_val):.4f} val acc {(pred.argmax(1) == y_val).float().mean():.3f}")
