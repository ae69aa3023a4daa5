"""A linear autoencoder: spectra are mixtures of four pigments, so a rank-four map is all there is to learn."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(7)
bands = torch.linspace(0, 1, 40)
pigments = torch.stack([torch.exp(-((bands - c) / w) ** 2) for c, w in ((0.2, 0.1), (0.4, 0.2), (0.6, 0.08), (0.85, 0.15))])


def spectra(n):
    amounts = torch.randn(n, 4) * torch.tensor([1.0, 0.8, 1.2, 0.9])
    x = amounts @ pigments
    return x / 0.55 + 0.05 * torch.randn(n, 40)


class LinearAE(nn.Module):
    def __init__(self, bands=40, factors=4):
        super().__init__()
        self.encode = nn.Linear(bands, factors, bias=False)
        self.decode = nn.Linear(factors, bands, bias=False)

    def forward(self, x):
        return self.decode(self.encode(x))


train = DataLoader(TensorDataset(spectra(2000)), batch_size=50, shuffle=True)
held = spectra(300)
model = LinearAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(1, 9):
    model.train()
    total = 0.0
    for (x,) in train:
        loss = nn.functional.mse_loss(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / len(train)
    model.eval()
    with torch.no_grad():
        v = nn.functional.mse_loss(model(held), held).item()
    print(f"epoch {epoch}: mse {total:.5f}  held-out {v:.5f}")
