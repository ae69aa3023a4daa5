"""Weld inspection: few defects, drawn more often; noise and masking as augmentation."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(55)


def welds(n, seed, share=0.06, length=64):
    g = torch.Generator().manual_seed(seed)
    y = (torch.rand(n, generator=g) < share).long()
    t = torch.arange(length).float()
    seam = 0.5 * torch.sin(t / 5 + 6 * torch.rand(n, 1, generator=g))
    centre = 10 + (length - 20) * torch.rand(n, 1, generator=g)
    pore = -2.2 * torch.exp(-((t - centre) / 2.5) ** 2) * y[:, None]
    return (seam + pore + 0.3 * torch.randn(n, length, generator=g)).unsqueeze(1), y


def augment(x):
    x = x + 0.5 * torch.randn_like(x)
    x = x * (0.7 + 0.6 * torch.rand(len(x), 1, 1))
    keep = (torch.rand(len(x), 1, x.shape[-1]) > 0.15).float()
    return x * keep


x, y = welds(3000, 1)
xv, yv = welds(2000, 2)
weights = torch.where(y == 1, 1 / (y == 1).float().mean(), 1 / (y == 0).float().mean())
sampler = WeightedRandomSampler(weights, num_samples=2000, replacement=True)
train = DataLoader(TensorDataset(x, y), batch_size=50, sampler=sampler)
val = DataLoader(TensorDataset(xv, yv), batch_size=500)

model = nn.Sequential(nn.Conv1d(1, 16, 7, padding=3), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(16, 32, 5, padding=2), nn.ReLU(),
                      nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Dropout(0.4), nn.Linear(32, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-3)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, total_steps=15 * len(train))

for epoch in range(15):
    model.train()
    total = 0.0
    for xb, yb in train:
        loss = criterion(model(augment(xb)), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item()
    model.eval()
    guess, vloss = [], 0.0
    with torch.no_grad():
        for xb, yb in val:
            out = model(xb)
            vloss += criterion(out, yb).item() * len(yb)
            guess.append(out.argmax(1))
    guess = torch.cat(guess)
    recall = (guess[yv == 1] == 1).float().mean().item()
    fine = (guess[yv == 0] == 0).float().mean().item()
    print(f"epoch {epoch + 1:2d} train {total / len(train):.3f} val {vloss / len(yv):.3f} defects found {recall:.2f} good passed {fine:.3f}")
