"""Compress 60-channel spectra to 6 numbers and back."""
import torch
from torch import nn

torch.manual_seed(11)
channels = torch.linspace(0, 1, 60)


def spectra(n):
    # three peaks with random height, fixed places, random widths
    heights = torch.rand(n, 3, 1) + 0.3
    widths = 0.03 + 0.05 * torch.rand(n, 3, 1)
    places = torch.tensor([0.2, 0.5, 0.8]).view(1, 3, 1)
    s = (heights * torch.exp(-((channels - places) / widths) ** 2 / 2)).sum(1)
    return s + 0.02 * torch.randn(n, 60)


train, test = spectra(4000), spectra(800)
mean, std = train.mean(), train.std()
train, test = (train - mean) / std, (test - mean) / std

encoder = nn.Sequential(nn.Linear(60, 48), nn.ReLU(), nn.Linear(48, 6))
decoder = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 60))
enc_opt = torch.optim.Adam(encoder.parameters(), lr=2e-3)
dec_opt = torch.optim.Adam(decoder.parameters(), lr=2e-3)
mse = nn.MSELoss()

for epoch in range(1, 21):
    total, batches = 0.0, 0
    for idx in torch.randperm(len(train)).split(100):
        x = train[idx]
        enc_opt.zero_grad()
        enc_opt.zero_grad()
        recon = decoder(encoder(x))
        loss = mse(recon, x)
        loss.backward()
        enc_opt.step()
        dec_opt.step()
        total += loss.item()
        batches += 1
    if epoch % 2 == 0:
        with torch.no_grad():
            test_loss = mse(decoder(encoder(test)), test).item()
        print("epoch", epoch, "train", round(total / batches, 5), "test", round(test_loss, 5))
