import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS, BATCH, MAX_LR = 16, 64, 0.06
torch.manual_seed(13)


def waveforms(n, length=96):
    """Six kinds of periodic signal at random frequency, phase and noise."""
    kind = torch.randint(0, 6, (n,))
    t = torch.linspace(0, 1, length)
    phase = (t * (2 + 4 * torch.rand(n, 1)) + torch.rand(n, 1)) % 1
    forms = torch.stack([
        torch.sin(2 * math.pi * phase),
        1 - 4 * (phase - 0.5).abs(),
        2 * phase - 1,
        1 - 2 * phase,
        torch.sign(0.5 - phase),
        torch.where(phase < 0.15, 1.6, -0.3),
    ], dim=1)
    x = forms[torch.arange(n), kind] * (0.7 + 0.6 * torch.rand(n, 1)) + 0.35 * torch.randn(n, length)
    return TensorDataset(x.unsqueeze(1), kind)


class WaveNetlet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, 16, 9, stride=2, padding=4), nn.ReLU(),
            nn.Conv1d(16, 32, 7, stride=2, padding=3), nn.ReLU(),
            nn.Conv1d(32, 32, 5, stride=2, padding=2), nn.ReLU(),
        )
        self.fc = nn.Linear(32, 6)

    def forward(self, x):
        return self.fc(self.conv(x).mean(-1))


def evaluate(model, loader):
    model.eval()
    loss, right = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            loss += nn.functional.cross_entropy(out, y, reduction="sum").item()
            right += (out.argmax(1) == y).sum().item()
    return loss / len(loader.dataset), right / len(loader.dataset)


train_loader = DataLoader(waveforms(8000), batch_size=BATCH, shuffle=True)
val_loader = DataLoader(waveforms(1200), batch_size=300)
model = WaveNetlet()
optimizer = torch.optim.SGD(model.parameters(), lr=MAX_LR, momentum=0.9, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.OneCycleLR(
    optimizer, max_lr=MAX_LR, epochs=EPOCHS, steps_per_epoch=len(train_loader), cycle_momentum=False)

for epoch in range(1, EPOCHS + 1):
    model.train()
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item() * len(y)
    vloss, vacc = evaluate(model, val_loader)
    print(f"epoch {epoch}/{EPOCHS}  loss {total / len(train_loader.dataset):.4f}  val loss {vloss:.4f}  val acc {vacc:.4f}")
