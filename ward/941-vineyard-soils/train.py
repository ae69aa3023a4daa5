"""Grape quality from soil samples."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

torch.manual_seed(27)
STEPS, BATCH = 400, 12


def soils(n):
    x = torch.randn(n, 20)
    score = 1.1 * x[:, 0] - 0.9 * x[:, 1] + 0.7 * x[:, 2] + 1.0 * torch.randn(n)
    return x, (score > 0).long()


train_set = TensorDataset(*soils(120))
x_val, y_val = soils(500)
train = DataLoader(train_set, batch_size=BATCH, sampler=RandomSampler(train_set, num_samples=STEPS * BATCH))
model = nn.Sequential(nn.Linear(20, 192), nn.ReLU(), nn.Linear(192, 192), nn.ReLU(), nn.Linear(192, 2))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
ce = nn.CrossEntropyLoss()

seen = 0.0
for step, (x, y) in enumerate(train, 1):
    model.train()
    opt.zero_grad()
    loss = ce(model(x), y)
    loss.backward()
    opt.step()
    seen += loss.item()
    if step % 20 == 0:
        model.eval()
        with torch.no_grad():
            out = model(x_val)
        print(f"step {step}: train {seen / 20:.4f} val {ce(out, y_val).item():.4f} acc {(out.argmax(1) == y_val).float().mean().item():.3f}")
        seen = 0.0
