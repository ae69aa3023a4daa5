"""Bee hive states from microphone spectra. Trained on hives at the institute, checked on hives in the field on purpose:
those microphones are a little noisier, and that is where the model will be used."""
import math

import torch
from torch import nn

STATES = ("calm", "fanning", "swarming", "queenless")
HZ = torch.linspace(100, 600, 50)


def spectra(n, noise, g):
    y = torch.randint(len(STATES), (n,), generator=g)
    centre = torch.tensor([190.0, 260.0, 330.0, 230.0])[y].unsqueeze(1) + 10 * torch.randn(n, 1, generator=g)
    width = torch.tensor([30.0, 45.0, 60.0, 70.0])[y].unsqueeze(1)
    peak = 2.2 * torch.exp(-((HZ - centre) / width) ** 2)
    overtone = 1.1 * torch.exp(-((HZ - 1.8 * centre) / width) ** 2)
    return peak + overtone + noise * torch.randn(n, len(HZ), generator=g), y


class HiveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 12, 7, padding=3)
        self.norm1 = nn.GroupNorm(3, 12)
        self.conv2 = nn.Conv1d(12, 16, 7, padding=3)
        self.fc = nn.Linear(16 * 12, len(STATES))

    def forward(self, x):
        h = nn.functional.max_pool1d(torch.relu(self.norm1(self.conv1(x.unsqueeze(1)))), 2)
        h = nn.functional.max_pool1d(torch.relu(self.conv2(h)), 2)
        return self.fc(h.flatten(1))


g = torch.Generator().manual_seed(52)
torch.manual_seed(52)
x_inst, y_inst = spectra(2000, noise=1.0, g=g)
x_field, y_field = spectra(700, noise=1.12, g=g)
mean, std = x_inst.mean(), x_inst.std()
x_inst, x_field = (x_inst - mean) / std, (x_field - mean) / std

model = HiveNet()
optimizer = torch.optim.AdamW(model.parameters(), lr=1.5e-3, weight_decay=1e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)
for epoch in range(6):
    model.train()
    total = 0.0
    for rows in torch.randperm(len(x_inst)).split(40):
        loss = nn.functional.cross_entropy(model(x_inst[rows]), y_inst[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(rows)
    scheduler.step()
    model.eval()
    with torch.no_grad():
        out = model(x_field)
        field = nn.functional.cross_entropy(out, y_field).item()
    print(f"epoch {epoch + 1}: institute loss {total / len(x_inst):.4f} | field loss {field:.4f} "
          f"acc {(out.argmax(1) == y_field).float().mean().item():.3f} (chance loss {math.log(len(STATES)):.2f})")
