# %% [markdown]
# # Convolutional autoencoder for scanned digits
# %%
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader

torch.manual_seed(2)
images = torch.tensor(load_digits().images, dtype=torch.float32).unsqueeze(1) / 16
train_images, test_images = train_test_split(images, test_size=0.25, random_state=2)
train_loader = DataLoader(train_images, batch_size=64, shuffle=True)
test_loader = DataLoader(test_images, batch_size=256)


# %%
class Encoder(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 32, 3, stride=1, padding=1), nn.LeakyReLU(0.1),
                                 nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.LeakyReLU(0.1), nn.Flatten(),
                                 nn.Linear(64 * 16, latent))

    def forward(self, x):
        return self.net(x)


class Decoder(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.fc = nn.Linear(latent, 64 * 16)
        self.net = nn.Sequential(nn.LeakyReLU(0.1), nn.ConvTranspose2d(64, 32, 4, stride=2, padding=1), nn.LeakyReLU(0.1),
                                 nn.Conv2d(32, 1, 3, padding=1))

    def forward(self, z):
        return self.net(self.fc(z).view(-1, 64, 4, 4))


# %%
num_epochs = 4
encoder, decoder = Encoder(8), Decoder(8)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.3, patience=3)
criterion = nn.MSELoss()


def reconstruction_error(loader):
    encoder.eval(), decoder.eval()
    with torch.no_grad():
        return sum(criterion(decoder(encoder(x)), x).item() * len(x) for x in loader) / len(loader.dataset)


# %%
baseline = ((test_images - train_images.mean(0)) ** 2).mean().item()
print(f"error of the mean image: {baseline:.4f}")
for epoch in range(num_epochs):
    encoder.train(), decoder.train()
    total = 0.0
    for x in train_loader:
        loss = criterion(decoder(encoder(x)), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    error = reconstruction_error(test_loader)
    scheduler.step(error)
    print(f"epoch {epoch + 1}/{num_epochs}  train {total / len(train_images):.5f}  test {error:.5f}")

# %%
with torch.no_grad():
    for a, b in zip(test_images[:1, 0], decoder(encoder(test_images[:1]))[:, 0]):
        for r in range(8):
            print("".join(" .:-=+*#%@"[int(v * 9)] for v in a[r].clamp(0, 1)), "  ", "".join(" .:-=+*#%@"[int(v * 9)] for v in b[r].clamp(0, 1)))
