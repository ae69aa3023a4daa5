"""Two stages: pretrain an autoencoder on unlabelled digits, then fit a linear head on its frozen code."""
import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def encoder(code):
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, code))


class AutoEncoder(nn.Module):
    def __init__(self, code):
        super().__init__()
        self.encoder = encoder(code)
        self.decoder = nn.Sequential(nn.Linear(code, 64), nn.ReLU(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64))

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Classifier(nn.Module):
    def __init__(self, code, classes=10):
        super().__init__()
        self.backbone = encoder(code)
        self.head = nn.Linear(code, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def pretrain(x, args, path):
    model = AutoEncoder(args.code)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(args.pretrain_epochs):
        total = 0.0
        for idx in torch.randperm(len(x)).split(32):
            opt.zero_grad()
            noisy = x[idx] + 0.2 * torch.randn_like(x[idx])
            loss = F.mse_loss(model(noisy), x[idx])
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        if epoch % 15 == 14:
            print(f"pretrain epoch {epoch + 1}: reconstruction {total / len(x):.4f}")
    torch.save({"state_dict": model.state_dict(), "code": args.code}, path)


def restore(model, path):
    ckpt = torch.load(path)
    model.load_state_dict(ckpt["state_dict"], strict=False)
    for p in model.backbone.parameters():
        p.requires_grad = False
    return model


def finetune(model, train, val, args):
    (x, y), (xv, yv) = train, val
    opt = torch.optim.Adam(model.head.parameters(), lr=1e-2)
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(x)).split(32):
            opt.zero_grad()
            loss = F.cross_entropy(model(x[idx]), y[idx])
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            out = model(xv)
        if epoch % 5 == 4:
            print(f"head epoch {epoch + 1}: train {total / len(x):.4f} val {F.cross_entropy(out, yv).item():.4f} "
                  f"acc {(out.argmax(1) == yv).float().mean().item():.4f}")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--code", type=int, default=12)
    ap.add_argument("--pretrain-epochs", type=int, default=60)
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--seed", type=int, default=14)
    args = ap.parse_args()
    torch.manual_seed(args.seed)

    X, y = load_digits(return_X_y=True)
    X_pool, X_val, y_pool, y_val = train_test_split(X, y, test_size=0.3, stratify=y, random_state=args.seed)
    X_pool, X_val = (torch.tensor((a - 4.9) / 6.0, dtype=torch.float32) for a in (X_pool, X_val))
    y_pool, y_val = torch.tensor(y_pool), torch.tensor(y_val)

    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "autoencoder.pt")
        pretrain(X_pool, args, path)
        model = restore(Classifier(args.code), path)
    finetune(model, (X_pool, y_pool), (X_val, y_val), args)
