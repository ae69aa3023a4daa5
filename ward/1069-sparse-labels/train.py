"""Pretrain an encoder on unlabelled pictures (masked reconstruction), then train a small probe on 200 labels."""
import io

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(81)


class Encoder(nn.Module):
    def __init__(self, width=128, code=32):
        super().__init__()
        self.fc1 = nn.Linear(64, width)
        self.fc2 = nn.Linear(width, code)

    def forward(self, x):
        return torch.tanh(self.fc2(F.relu(self.fc1(x))))


class MaskedAutoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.decoder = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 64))

    def forward(self, x):
        keep = (torch.rand_like(x) > 0.3).float()
        return self.decoder(self.encoder(x * keep))


class Probe(nn.Module):
    """Fixed features, trained classifier."""

    def __init__(self, encoder, classes=10):
        super().__init__()
        self.features = encoder
        self.classifier = nn.Linear(32, classes)

    def forward(self, x):
        with torch.no_grad():
            h = self.features(x)
        return self.classifier(h)


def pretrain(x, epochs=12, batch=64):
    net = MaskedAutoencoder()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(epochs):
        total = 0.0
        for b in torch.randperm(len(x)).split(batch):
            loss = F.mse_loss(net(x[b]), x[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(b)
        if epoch % 3 == 2:
            print(f"pretrain epoch {epoch + 1:2d} reconstruction {total / len(x):.4f}")
    buffer = io.BytesIO()
    torch.save({"epoch": epochs, "state_dict": net.state_dict()}, buffer)
    buffer.seek(0)
    return buffer


def restore(module, file):
    checkpoint = torch.load(file)
    own = module.state_dict()
    wanted = {k: v for k, v in checkpoint["state_dict"].items() if k in own and v.shape == own[k].shape}
    own.update(wanted)
    module.load_state_dict(own)
    print(f"restored encoder from epoch {checkpoint['epoch']}")
    return module


def main():
    x, y = load_digits(return_X_y=True)
    order = torch.randperm(len(y))
    x, y = torch.tensor(x, dtype=torch.float32)[order] / 8 - 1, torch.tensor(y)[order]
    file = pretrain(x[:1400])
    probe = Probe(restore(Encoder(), file))
    opt = torch.optim.Adam(probe.classifier.parameters(), lr=1e-2)
    for epoch in range(1, 21):
        total = 0.0
        for b in torch.randperm(200).split(25):
            loss = F.cross_entropy(probe(x[b]), y[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(b) / 200
        if epoch % 5 == 0:
            acc = (probe(x[1400:]).argmax(1) == y[1400:]).float().mean().item()
            print(f"probe epoch {epoch:2d} loss {total:.4f} test accuracy {acc:.3f}")


if __name__ == "__main__":
    main()
