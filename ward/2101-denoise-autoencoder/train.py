import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser(description="denoising autoencoder for 8x8 digits")
parser.add_argument("--epochs", type=int, default=40)
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--lr", type=float, default=2e-2)
parser.add_argument("--noise", type=float, default=0.2)
parser.add_argument("--latent", type=int, default=16)
parser.add_argument("--seed", type=int, default=3)
args = parser.parse_args()

torch.manual_seed(args.seed)


class DigitImages(Dataset):
    def __init__(self, images):
        self.images = torch.tensor(images, dtype=torch.float32).flatten(1) / 16.0

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        clean = self.images[idx]
        return clean + args.noise * torch.randn_like(clean), clean


class AutoEncoder(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(64, 128), nn.ReLU(),
            nn.Linear(128, 64), nn.ReLU(),
            nn.Linear(64, latent),
        )
        self.decoder = nn.Sequential(
            nn.Linear(latent, 64), nn.ReLU(),
            nn.Linear(64, 128), nn.ReLU(),
            nn.Linear(128, 64),
        )

    def forward(self, x):
        return self.decoder(self.encoder(x))


images = load_digits().images
order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0)).numpy()
train_set, test_set = DigitImages(images[order[:1450]]), DigitImages(images[order[1450:]])
train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
test_loader = DataLoader(test_set, batch_size=347)

model = AutoEncoder(args.latent)
optimizer = torch.optim.RMSprop(model.parameters(), lr=args.lr)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
mse = nn.MSELoss()

for epoch in range(args.epochs):
    model.train()
    running = 0.0
    for noisy, clean in train_loader:
        loss = mse(model(noisy), clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item() * len(clean)
    scheduler.step()
    model.eval()
    with torch.no_grad():
        test = sum(mse(model(n), c).item() * len(c) for n, c in test_loader) / len(test_set)
    if epoch % 4 == 3 or epoch == 0:
        print(f"[{epoch + 1:02d}/{args.epochs}] train mse {running / len(train_set):.5f}  test mse {test:.5f}")
print(f"pixel variance {train_set.images.var(0).mean():.5f}")
