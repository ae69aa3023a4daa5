import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(18)


class AutoEncoder(nn.Module):
    """Takes grey values 0..255 as they are; scales them itself."""

    def __init__(self, code=12):
        super().__init__()
        self.register_buffer("mean", torch.tensor(78.0))
        self.register_buffer("std", torch.tensor(96.0))
        self.encoder = nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Linear(96, code))
        self.decoder = nn.Sequential(nn.Linear(code, 96), nn.GELU(), nn.Linear(96, 64))

    def scale(self, pixels):
        return (pixels - self.mean) / self.std

    def forward(self, pixels):
        return self.decoder(self.encoder(self.scale(pixels)))


def reconstruction(model, pixels):
    return F.mse_loss(model(pixels), model.scale(pixels))


pixels = torch.tensor(load_digits().data * 15.9375, dtype=torch.float32).round()
train, val = train_test_split(pixels, test_size=0.2, random_state=18)
loader = DataLoader(TensorDataset(train), batch_size=48, shuffle=True, drop_last=True)
model = AutoEncoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=40)
for epoch in range(1, 41):
    model.train()
    total = 0.0
    for (batch,) in loader:
        loss = reconstruction(model, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    scheduler.step()
    if epoch % 4 == 0:
        model.eval()
        with torch.no_grad():
            v = reconstruction(model, val).item()
        print(f"epoch {epoch:2d}  train mse {total / len(loader):.4f}  val mse {v:.4f}  (variance {F.mse_loss(model.scale(val).mean(0).expand_as(val), model.scale(val)).item():.3f})")
