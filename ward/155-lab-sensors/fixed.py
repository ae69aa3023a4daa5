import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(40)

# 16 channels driven by 4 hidden quantities; learn to clean them with a bottleneck
mix = torch.randn(4, 16)
mix2 = torch.randn(4, 16)


def record(n):
    z = torch.randn(n, 4)
    clean = (z @ mix + 0.5 * torch.tanh(z @ mix2)) / 2.3
    return clean + 0.3 * torch.randn(n, 16), clean


train_dl = DataLoader(TensorDataset(*record(2400)), batch_size=64, shuffle=True)
test_dl = DataLoader(TensorDataset(*record(480)), batch_size=8)

encoder = nn.Sequential(nn.Linear(16, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 6))
decoder = nn.Sequential(nn.Linear(6, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 16))
autoencoder = nn.Sequential(encoder, decoder)
optimizer = optim.Adam(autoencoder.parameters(), lr=3e-3)
scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.3)
mse = nn.MSELoss()

for epoch in range(1, 11):
    autoencoder.train()
    train_mse = 0.0
    for noisy, clean in train_dl:
        optimizer.zero_grad()
        loss = mse(autoencoder(noisy), clean)
        loss.backward()
        optimizer.step()
        train_mse += loss.item() / len(train_dl)
    scheduler.step()

    autoencoder.eval()
    test_mse = 0.0
    with torch.no_grad():
        for noisy, clean in test_dl:
            test_mse += mse(autoencoder(noisy), clean).item() / len(test_dl)
    print(f"epoch {epoch:2d}   train mse {train_mse:.4f}   test mse {test_mse:.4f}")
