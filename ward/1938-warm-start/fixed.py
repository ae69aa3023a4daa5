"""Pretrain an autoencoder on unlabelled digits, then classify with its frozen encoder."""
import io

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


def encoder(code=10):
    return nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 48), nn.ReLU(), nn.Linear(48, code))


class AutoEncoder(nn.Module):
    def __init__(self, code=10):
        super().__init__()
        self.encoder = encoder(code)
        self.decoder = nn.Sequential(nn.Linear(code, 96), nn.ReLU(), nn.Linear(96, 64))

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Classifier(nn.Module):
    def __init__(self, code=10, classes=10):
        super().__init__()
        self.backbone = encoder(code)
        self.head = nn.Sequential(nn.Linear(code, 32), nn.ReLU(), nn.Linear(32, classes))

    def forward(self, x):
        return self.head(self.backbone(x))


def pretrain(x, file, epochs=40):
    model = AutoEncoder()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(epochs):
        total = 0.0
        for rows in torch.randperm(len(x)).split(50):
            opt.zero_grad()
            loss = F.mse_loss(model(x[rows]), x[rows])
            loss.backward()
            opt.step()
            total += loss.item() * len(rows)
        if epoch % 10 == 9:
            print(f"pretrain {epoch + 1}: reconstruction {total / len(x):.4f}")
    torch.save({"model": model.state_dict(), "epochs": epochs}, file)


def finetune(x, y, xv, yv, file, epochs=30):
    file.seek(0)
    model = Classifier()
    state = {k.replace("encoder.", "backbone."): v for k, v in torch.load(file)["model"].items()}
    model.load_state_dict(state, strict=False)
    for p in model.backbone.parameters():
        p.requires_grad = False
    opt = torch.optim.Adam(model.head.parameters(), lr=3e-3)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for rows in torch.randperm(len(x)).split(25):
            opt.zero_grad()
            loss = F.cross_entropy(model(x[rows]), y[rows])
            loss.backward()
            opt.step()
            total += loss.item() * len(rows)
        model.eval()
        with torch.no_grad():
            out = model(xv)
            vl, acc = F.cross_entropy(out, yv).item(), (out.argmax(1) == yv).float().mean().item()
        if epoch % 5 == 4:
            print(f"classify {epoch + 1}: train {total / len(x):.4f} val {vl:.4f} acc {acc:.3f}")


def main():
    torch.manual_seed(19)
    d = load_digits()
    x, y = torch.tensor(d.data, dtype=torch.float32) / 8 - 1, torch.tensor(d.target)
    order = torch.randperm(len(x))
    x, y = x[order], y[order]
    weights = io.BytesIO()
    pretrain(x[:1200], weights)
    finetune(x[:700], y[:700], x[1200:], y[1200:], weights)


main()
