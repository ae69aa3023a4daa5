"""VAE with a side classifier on 8x8 digits. Three loss terms, KL weight and learning rate set by hand each epoch."""
import torch
from torch import nn
from torch.nn import functional as F
from sklearn.datasets import load_digits


def settings(epoch, n_epochs):
    beta = min(1.0, 0.1 + epoch / 10)
    lr = 2e-3 * 0.5 ** (epoch // 10)
    return beta, max(lr, 1e-7)


class DigitVAE(nn.Module):
    def __init__(self, z=10):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, 128), nn.ELU(), nn.Linear(128, 64), nn.ELU())
        self.mu, self.logvar = nn.Linear(64, z), nn.Linear(64, z)
        self.dec = nn.Sequential(nn.Linear(z, 64), nn.ELU(), nn.Linear(64, 128), nn.ELU(), nn.Linear(128, 64))
        self.cls = nn.Linear(z, 10)

    def forward(self, x):
        h = self.enc(2 * x - 1)
        mu, logvar = self.mu(h), self.logvar(h).clamp(-8, 4)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar) if self.training else mu
        return self.dec(z), mu, logvar, self.cls(z)


def terms(model, x, y):
    rec, mu, logvar, logits = model(x)
    rec_loss = F.binary_cross_entropy_with_logits(rec, x, reduction="none").sum(1).mean()
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    side = F.cross_entropy(logits, y)
    return rec_loss, kl, side


def report(model, x, y):
    model.eval()
    with torch.no_grad():
        rec, _, _, logits = model(x)
        mse = (torch.sigmoid(rec) - x).pow(2).mean().item()
        acc = (logits.argmax(1) == y).float().mean().item()
    model.train()
    return {"mse": mse, "acc": acc}


def main(n_epochs=40, batch=32):
    torch.manual_seed(14)
    d = load_digits()
    order = torch.randperm(len(d.target))
    x, y = torch.tensor(d.data, dtype=torch.float32)[order] / 16, torch.tensor(d.target)[order]
    xt, yt, xv, yv = x[:1400], y[:1400], x[1400:], y[1400:]
    model = DigitVAE()
    opt = torch.optim.Adam(model.parameters())
    for epoch in range(n_epochs):
        beta, lr = settings(epoch, n_epochs)
        for g in opt.param_groups:
            g["lr"] = lr
        sums = torch.zeros(3)
        for b in torch.randperm(len(xt)).split(batch):
            rec_loss, kl, side = terms(model, xt[b], yt[b])
            total = rec_loss + beta * kl + 5 * side
            opt.zero_grad()
            total.backward()
            opt.step()
            sums += torch.stack([rec_loss, kl, side]).detach() * len(b)
        if epoch % 4 == 3:
            r, k, s = (sums / len(xt)).tolist()
            m = report(model, xv, yv)
            print(f"epoch {epoch + 1:2d} beta {beta:.2f} rec {r:.2f} kl {k:.2f} side {s:.3f} | val mse {m['mse']:.4f} acc {m['acc']:.3f}")


if __name__ == "__main__":
    main()
