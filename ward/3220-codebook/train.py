"""VQ-VAE on digits: straight-through estimator, codebook and commitment terms."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(17)


class VectorQuantizer(nn.Module):
    def __init__(self, n_codes, dim, beta=0.25):
        super().__init__()
        self.codebook = nn.Embedding(n_codes, dim)
        nn.init.normal_(self.codebook.weight, std=0.5)
        self.beta = beta

    def forward(self, z):
        flat = z.permute(0, 2, 3, 1).reshape(-1, z.size(1))
        dist = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.codebook.weight.t() + self.codebook.weight.pow(2).sum(1)
        idx = dist.argmin(1)
        q = self.codebook(idx).view(z.size(0), z.size(2), z.size(3), -1).permute(0, 3, 1, 2)
        loss = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(z, q.detach())
        return z + (q - z).detach(), loss, idx


class VQVAE(nn.Module):
    def __init__(self, ch=32, dim=8, n_codes=48):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, ch, 3, padding=1), nn.ReLU(), nn.Conv2d(ch, ch, 4, stride=2, padding=1), nn.ReLU(), nn.Conv2d(ch, dim, 1))
        self.vq = VectorQuantizer(n_codes, dim)
        self.dec = nn.Sequential(nn.Conv2d(dim, ch, 3, padding=1), nn.ReLU(), nn.ConvTranspose2d(ch, ch, 4, stride=2, padding=1), nn.ReLU(), nn.Conv2d(ch, 1, 3, padding=1))

    def forward(self, x):
        q, vq_loss, idx = self.vq(self.enc(x))
        return self.dec(q), vq_loss, idx


images = torch.tensor(load_digits().images, dtype=torch.float32)[:, None] / 8 - 1
images = images[torch.randperm(len(images))]
train, val = images[:1500], images[1500:]
model = VQVAE()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
EPOCHS = 24
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, EPOCHS)
for epoch in range(1, EPOCHS + 1):
    model.train()
    rec_sum = vq_sum = 0.0
    for b in torch.randperm(len(train)).split(32):
        out, vq_loss, _ = model(train[b])
        rec = F.mse_loss(out, train[b])
        opt.zero_grad()
        (rec + vq_loss).backward()
        opt.step()
        rec_sum += rec.item() * len(b) / len(train)
        vq_sum += vq_loss.item() * len(b) / len(train)
    sched.step()
    model.eval()
    with torch.no_grad():
        out, _, idx = model(val)
    if epoch % 2 == 0:
        print(f"{epoch:3d}  rec {rec_sum:.4f}  vq {vq_sum:.4f}  val rec {F.mse_loss(out, val):.4f}  (variance {val.var():.3f})  codes in use {idx.unique().numel()}")
