import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from sklearn.datasets import load_digits

torch.manual_seed(123)
pixels = torch.tensor(load_digits().data / 16.0, dtype=torch.float32)
order = torch.randperm(len(pixels))
train_set, test_set = pixels[order[:1500]], pixels[order[1500:]]
train_loader = DataLoader(train_set, batch_size=50, shuffle=True)


class AutoEncoder(nn.Module):
    def __init__(self, code=12):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, code))
        self.decoder = nn.Sequential(nn.Linear(code, 48), nn.ReLU(), nn.Linear(48, 64), nn.Sigmoid())

    def forward(self, x):
        return self.decoder(self.encoder(x))


ae = AutoEncoder()
loss_fn = nn.BCELoss()
optimizer = torch.optim.Adam(ae.parameters(), lr=5e-3)
# the pixels are grey, so the cross entropy cannot go below their own entropy
p = test_set.clamp(1e-6, 1 - 1e-6)
floor = loss_fn(p, test_set).item()
print(f"floor {floor:.4f}")

for epoch in range(18):
    ae.train()
    epoch_loss = 0
    for batch in train_loader:
        recon = ae(batch)
        loss = loss_fn(recon, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    ae.eval()
    with torch.no_grad():
        rec = ae(test_set)
        test_loss = loss_fn(rec, test_set).item()
        mse = (rec - test_set).pow(2).mean().item()
    print(f"Epoch {epoch + 1}/18, loss: {epoch_loss / len(train_loader):.4f}, test loss: {test_loss:.4f}, test mse: {mse:.4f}")
