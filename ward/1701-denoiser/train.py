import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class DenoisingAE(nn.Module):
    def __init__(self, width=16, code=24):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, width, 3, stride=2, padding=1), nn.LeakyReLU(0.1),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.LeakyReLU(0.1),
            nn.Flatten(), nn.Linear(2 * width * 16, code))
        self.decoder = nn.Sequential(
            nn.Linear(code, 2 * width * 16), nn.LeakyReLU(0.1), nn.Unflatten(1, (2 * width, 4, 4)),
            nn.ConvTranspose2d(2 * width, width, 4, stride=2, padding=1), nn.LeakyReLU(0.1),
            nn.ConvTranspose2d(width, 1, 4, stride=2, padding=1))

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Trainer:
    def __init__(self, model, images, batch_size=32, lr=1e-3, momentum=0.9, noise=0.3, seed=0):
        self.model = model
        self.gen = torch.Generator().manual_seed(seed)
        perm = torch.randperm(len(images), generator=self.gen)
        self.train_imgs, self.val_imgs = images[perm[:1500]], images[perm[1500:]]
        self.val_noisy = self.corrupt(self.val_imgs, noise)
        self.batch_size, self.noise = batch_size, noise
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)
        self.history = []

    def corrupt(self, x, noise):
        return x + noise * torch.randn(x.shape, generator=self.gen)

    def step(self, clean):
        self.optimizer.zero_grad()
        out = self.model(self.corrupt(clean, self.noise))
        loss = F.mse_loss(out, clean, reduction="none").sum(dim=(1, 2, 3)).mean()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        out = self.model(self.val_noisy)
        self.model.train()
        return F.mse_loss(out, self.val_imgs, reduction="none").sum(dim=(1, 2, 3)).mean().item()

    def fit(self, epochs):
        self.model.train()
        for epoch in range(epochs):
            perm = torch.randperm(len(self.train_imgs), generator=self.gen)
            losses = [self.step(self.train_imgs[idx]) for idx in perm.split(self.batch_size)]
            self.history.append((sum(losses) / len(losses), self.validate()))
            print("epoch {:2d}   recon {:8.3f}   val recon {:8.3f}".format(epoch + 1, *self.history[-1]))


if __name__ == "__main__":
    torch.manual_seed(2)
    digits = torch.tensor(load_digits().images, dtype=torch.float32)[:, None] / 16
    digits = F.interpolate(digits, size=16, mode="bilinear", align_corners=False)
    mean_image = digits.mean(0, keepdim=True)
    print("predicting the mean image: %.3f" % ((digits - mean_image) ** 2).sum(dim=(1, 2, 3)).mean())
    trainer = Trainer(DenoisingAE(), digits, lr=0.01)
    trainer.fit(epochs=20)
