from dataclasses import dataclass

import torch
from torch import nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


@dataclass
class Settings:
    latent: int = 12
    hidden: int = 64
    batch: int = 32
    epochs: int = 60
    lr: float = 1e-5
    momentum: float = 0.9
    seed: int = 21


class AutoEncoder(nn.Module):
    def __init__(self, s: Settings):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(64, s.hidden), nn.GELU(), nn.Linear(s.hidden, s.latent))
        self.decode = nn.Sequential(nn.Linear(s.latent, s.hidden), nn.GELU(), nn.Linear(s.hidden, 64))

    def forward(self, x):
        return self.decode(self.encode(x))


def reconstruction_error(rec, x):
    # summed over the 64 pixels, averaged over the batch
    return ((rec - x) ** 2).sum(dim=1).mean()


def run(s: Settings):
    torch.manual_seed(s.seed)
    images = torch.tensor(load_digits().data, dtype=torch.float32) / 16
    train, val = train_test_split(images, test_size=0.25, random_state=s.seed)
    mean = train.mean(0)
    train, val = train - mean, val - mean

    model = AutoEncoder(s)
    optimizer = torch.optim.SGD(model.parameters(), lr=s.lr, momentum=s.momentum)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=s.epochs)
    baseline = (val ** 2).sum(1).mean()
    print(f"error of the mean picture: {baseline:.3f}")
    for epoch in range(s.epochs):
        model.train()
        seen = 0.0
        for idx in torch.randperm(len(train)).split(s.batch):
            x = train[idx]
            loss = reconstruction_error(model(x), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen += loss.item() * len(idx)
        scheduler.step()
        model.eval()
        with torch.no_grad():
            val_err = reconstruction_error(model(val), val).item()
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1:3d}  train {seen / len(train):.3f}  val {val_err:.3f}")


if __name__ == "__main__":
    run(Settings())
