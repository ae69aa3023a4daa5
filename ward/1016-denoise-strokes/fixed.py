"""Denoising autoencoder for 8x8 pen strokes (sklearn digits), step-based trainer with a plateau schedule."""
import torch
import torch.nn as nn
from sklearn.datasets import load_digits


class Denoiser(nn.Module):
    def __init__(self, hidden=128, code=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, code), nn.ReLU())
        self.decoder = nn.Sequential(nn.Linear(code, hidden), nn.ReLU(), nn.Linear(hidden, 64))

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Trainer:
    def __init__(self, images, heldout, noise=0.5, batch_size=32, lr=2e-3, check_every=10):
        self.images, self.heldout = images, heldout
        self.noise, self.batch_size, self.check_every = noise, batch_size, check_every
        self.model = Denoiser()
        self.criterion = nn.MSELoss()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(self.optimizer, factor=0.5, patience=10)
        self.history = []

    def batch(self):
        clean = self.images[torch.randint(len(self.images), (self.batch_size,))]
        return clean + self.noise * torch.randn_like(clean), clean

    def train_step(self):
        self.model.train()
        noisy, clean = self.batch()
        loss = self.criterion(self.model(noisy), clean)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def heldout_loss(self, n=48):
        self.model.eval()
        clean = self.heldout[torch.randint(len(self.heldout), (n,))]
        return self.criterion(self.model(clean + self.noise * torch.randn_like(clean)), clean).item()

    def run(self, steps):
        for step in range(1, steps + 1):
            self.history.append(self.train_step())
            if step % self.check_every == 0:
                val = self.heldout_loss()
                self.scheduler.step(val)
            if step % 50 == 0:
                recent = sum(self.history[-50:]) / 50
                print(f"step {step}: train {recent:.4f}  held-out {self.heldout_loss(200):.4f}  lr {self.optimizer.param_groups[0]['lr']:.1e}")


def main():
    torch.manual_seed(14)
    x = torch.tensor(load_digits().data, dtype=torch.float32)
    x = (x - x.mean()) / x.std()
    x = x[torch.randperm(len(x))]
    Trainer(x[:1400], x[1400:]).run(500)


main()
