"""Water pressure at the tap from pump settings, trained on a stream of readings."""
import torch
import torch.nn as nn

torch.manual_seed(28)
batch_size = 64
truth = torch.randn(12) * 0.5


def readings(n):
    x = torch.randn(n, 12)
    y = x @ truth + 0.6 * torch.sin(2 * x[:, 0]) + 1.5 * torch.randn(n)
    return x, y.unsqueeze(1)


val_x, val_y = readings(500)
model = nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=0.012)
mse = nn.MSELoss()
recent = []
for step in range(1, 601):
    model.train()
    x, y = readings(batch_size)
    loss = mse(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    recent.append(loss.item())
    if step % 50 == 0:
        model.eval()
        with torch.no_grad():
            val = mse(model(val_x), val_y).item()
        print(f"step {step} loss {sum(recent) / len(recent):.3f} val {val:.3f}")
        recent = []
