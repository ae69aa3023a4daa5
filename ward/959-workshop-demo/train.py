"""Workshop demo: strength of glued joints. Twelve joints are kept for the show at the end."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(62)
joints = torch.randn(1512, 6)
strength = 0.8 * joints[:, 0] + 0.6 * torch.relu(joints[:, 1]) - 0.5 * joints[:, 2] * joints[:, 3] + 0.2 * torch.randn(1512)

train = DataLoader(TensorDataset(joints[:1500], strength[:1500]), batch_size=30, shuffle=True)
show_x, show_y = joints[1500:], strength[1500:]

model = nn.Sequential(nn.Linear(6, 40), nn.SiLU(), nn.Linear(40, 1))
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(7):
    model.train()
    total = 0.0
    for x, y in train:
        loss = nn.functional.mse_loss(model(x).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch}: mse {total / len(train):.4f}")

model.eval()
with torch.no_grad():
    print(f"the twelve joints: mse {nn.functional.mse_loss(model(show_x).squeeze(1), show_y).item():.4f}")
