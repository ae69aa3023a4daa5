import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader
from sklearn.datasets import load_digits

EPOCHS = 3
BATCH = 64
LATENT = 8


class VAE(nn.Module):
    def __init__(self, n_pixels=256, hidden=256, latent=LATENT):
        super().__init__()
        self.fc1 = nn.Linear(n_pixels, hidden)
        self.fc21 = nn.Linear(hidden, latent)
        self.fc22 = nn.Linear(hidden, latent)
        self.fc3 = nn.Linear(latent, hidden)
        self.fc4 = nn.Linear(hidden, n_pixels)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def decode(self, z):
        return self.fc4(F.relu(self.fc3(z)))

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon_logits, x, mu, logvar):
    bce = F.binary_cross_entropy_with_logits(recon_logits, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (bce + kld) / len(x)


def train(model, loader, optimizer, epoch):
    model.train()
    train_loss = 0
    for data in loader:
        optimizer.zero_grad()
        recon, mu, logvar = model(data)
        loss = loss_function(recon, data, mu, logvar)
        loss.backward()
        train_loss += loss.item() * len(data)
        optimizer.step()
    print("====> Epoch: {} Average loss: {:.4f}".format(epoch, train_loss / len(loader.dataset)))


def test(model, loader):
    model.eval()
    test_loss = pixel_error = 0
    with torch.no_grad():
        for data in loader:
            recon, mu, logvar = model(data)
            test_loss += loss_function(recon, data, mu, logvar).item() * len(data)
            pixel_error += (torch.sigmoid(recon) - data).abs().mean().item() * len(data)
    n = len(loader.dataset)
    print("====> Test set loss: {:.4f}  mean pixel error {:.4f}".format(test_loss / n, pixel_error / n))


def main():
    torch.manual_seed(1)
    images = torch.tensor(load_digits().images, dtype=torch.float32)[:, None] / 16
    images = F.interpolate(images, size=16, mode="bilinear", align_corners=False).flatten(1).clamp(0, 1)
    images = images[torch.randperm(len(images))]
    train_loader = DataLoader(images[:1500], batch_size=BATCH, shuffle=True)
    test_loader = DataLoader(images[1500:], batch_size=297)
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(1, EPOCHS + 1):
        train(model, train_loader, optimizer, epoch)
        test(model, test_loader)


if __name__ == "__main__":
    main()
