"""Pretrain an encoder by filling in hidden pixels, then fit a linear probe on top of it."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def batches(n, size):
    return torch.randperm(n).split(size)


def hide(x, share=0.3):
    mask = torch.rand_like(x) < share
    return x.masked_fill(mask, 0.0), mask


def pretrain(encoder, train, val, epochs):
    decoder = nn.Linear(128, 64)
    params = list(encoder.parameters()) + list(decoder.parameters())
    opt = torch.optim.AdamW(params, lr=3e-3, weight_decay=0.01)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=epochs)
    fixed_noisy, fixed_mask = hide(val)
    for epoch in range(epochs):
        encoder.train()
        total = 0.0
        for idx in batches(len(train), 48):
            noisy, mask = hide(train[idx])
            loss = F.mse_loss(decoder(encoder(noisy))[mask], train[idx][mask])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        sched.step()
        encoder.eval()
        with torch.no_grad():
            v = F.mse_loss(decoder(encoder(fixed_noisy))[fixed_mask], val[fixed_mask]).item()
        if epoch % 6 == 5:
            print(f"pretrain {epoch + 1:2d}  train {total / len(train):.4f}  val {v:.4f}")


def probe(encoder, Xt, yt, Xv, yv, epochs):
    encoder.requires_grad_(False).eval()
    head = nn.Linear(128, 10)
    opt = torch.optim.AdamW(head.parameters(), lr=1e-2, weight_decay=0.01)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=epochs)
    for epoch in range(epochs):
        total = 0.0
        for idx in batches(len(yt), 48):
            with torch.no_grad():
                features = encoder(Xt[idx])
            loss = F.cross_entropy(head(features), yt[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        sched.step()
        with torch.no_grad():
            out = head(encoder(Xv))
        if epoch % 3 == 2:
            print(f"probe {epoch + 1:2d}  train {total / len(yt):.4f}  val {F.cross_entropy(out, yv):.4f}  "
                  f"acc {(out.argmax(1) == yv).float().mean():.3f}")


def main():
    torch.manual_seed(27)
    d = load_digits()
    X, y = torch.tensor(d.data, dtype=torch.float32) / 8 - 1, torch.tensor(d.target)
    Xt, Xv, yt, yv = train_test_split(X, y, test_size=0.35, random_state=2, stratify=y)
    encoder = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 128), nn.GELU())
    pretrain(encoder, Xt, Xv, epochs=48)
    probe(encoder, Xt, yt, Xv, yv, epochs=21)


if __name__ == "__main__":
    main()
