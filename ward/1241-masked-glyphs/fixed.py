"""Masked autoencoder pretraining on 8x8 glyphs."""
import argparse
import math
import time

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    p = argparse.ArgumentParser("MAE pre-training", add_help=False)
    p.add_argument("--batch_size", default=32, type=int)
    p.add_argument("--epochs", default=6, type=int)
    p.add_argument("--mask_ratio", default=0.5, type=float)
    p.add_argument("--blr", default=1.6e-2, type=float, help="base learning rate, per 256 pictures")
    p.add_argument("--weight_decay", default=0.05, type=float)
    p.add_argument("--seed", default=0, type=int)
    return p.parse_args()


class MaskedAutoencoder(nn.Module):
    def __init__(self, patch=2, dim=32, depth=1, heads=4):
        super().__init__()
        self.patch = patch
        self.n = (8 // patch) ** 2
        self.embed = nn.Linear(patch * patch, dim)
        self.pos = nn.Parameter(torch.randn(1, self.n, dim) * 0.1)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, dim))
        make = lambda k: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout=0.0, batch_first=True, norm_first=True), k,
            enable_nested_tensor=False)
        self.encoder, self.decoder = make(depth), make(1)
        self.norm = nn.LayerNorm(dim)
        self.pred = nn.Linear(dim, patch * patch)

    def patchify(self, imgs):
        return imgs.unfold(2, self.patch, self.patch).unfold(3, self.patch, self.patch).flatten(4).flatten(1, 3)

    def encode(self, patches, keep):
        x = self.embed(patches) + self.pos
        x = x.gather(1, keep[..., None].expand(-1, -1, x.size(-1)))
        return self.encoder(x)

    def forward(self, imgs, mask_ratio):
        patches = self.patchify(imgs)
        b = len(patches)
        order = torch.rand(b, self.n).argsort(1)
        n_keep = int(self.n * (1 - mask_ratio))
        latent = self.encode(patches, order[:, :n_keep])
        full = self.mask_token.expand(b, self.n, -1).clone()
        full = full.scatter(1, order[:, :n_keep, None].expand(-1, -1, latent.size(-1)), latent)
        out = self.pred(self.norm(self.decoder(full + self.pos)))
        mask = torch.ones(b, self.n).scatter(1, order[:, :n_keep], 0.0)
        return (((out - patches) ** 2).mean(-1) * mask).sum() / mask.sum()


def main(args):
    torch.manual_seed(args.seed)
    data = load_digits()
    x = torch.tensor(data.images, dtype=torch.float32)[:, None] / 16
    x = (x - x.mean()) / x.std()
    x = x[torch.randperm(len(x))]
    loader = DataLoader(TensorDataset(x[:1000]), batch_size=args.batch_size, shuffle=True, drop_last=True)
    model = MaskedAutoencoder()
    lr = args.blr * args.batch_size / 256
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.95), weight_decay=args.weight_decay)
    print("base lr %.2e, batches of %d, %d parameters" % (args.blr, args.batch_size, sum(p.numel() for p in model.parameters())))
    for epoch in range(args.epochs):
        t0, total = time.time(), 0.0
        for group in optimizer.param_groups:
            group["lr"] = lr * 0.5 * (1 + math.cos(math.pi * epoch / args.epochs))
        model.train()
        for (imgs,) in loader:
            loss = model(imgs, args.mask_ratio)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            val = model(x[1500:], args.mask_ratio)
        print(f"[{epoch}] train loss {total / len(loader):.4f}  val loss {val:.4f}  {time.time() - t0:.1f}s")


if __name__ == "__main__":
    main(get_args())
