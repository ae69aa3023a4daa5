"""Denoise vibration recordings: a small 1-d U-shaped net trained on random crops of long recordings."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

CROP = 128


def recording(seconds, rng):
    t = np.arange(seconds * 200) / 200
    clean = np.zeros_like(t)
    for _ in range(40):
        f, a, ph = rng.uniform(2, 22), rng.uniform(0.1, 0.5), rng.uniform(0, 6.28)
        centre, width = rng.uniform(0, seconds), rng.uniform(0.5, 4)
        clean += a * np.sin(2 * np.pi * f * t + ph) * np.exp(-((t - centre) / width) ** 2)
    return (clean / clean.std()).astype(np.float32)


class RandomCrops(Dataset):
    """Random crops with fresh noise; the index is not used."""

    def __init__(self, recordings, per_epoch, seed=0):
        self.recordings, self.per_epoch = recordings, per_epoch
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return self.per_epoch

    def __getitem__(self, index):
        rec = self.recordings[self.rng.integers(len(self.recordings))]
        start = self.rng.integers(len(rec) - CROP)
        clean = rec[start:start + CROP] * self.rng.uniform(0.7, 1.3)
        noisy = clean + self.rng.normal(0, 0.7, CROP)
        return torch.from_numpy(noisy).float()[None], torch.from_numpy(clean).float()[None]


def fresh_rng(worker_id):
    info = torch.utils.data.get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)


class Denoiser(nn.Module):
    def __init__(self, c=40):
        super().__init__()
        self.enc1 = nn.Sequential(nn.Conv1d(1, c, 9, padding=4), nn.GELU())
        self.enc2 = nn.Sequential(nn.Conv1d(c, 2 * c, 9, stride=2, padding=4), nn.GELU(), nn.Conv1d(2 * c, 2 * c, 9, padding=4), nn.GELU())
        self.up = nn.ConvTranspose1d(2 * c, c, 2, stride=2)
        self.dec = nn.Sequential(nn.Conv1d(2 * c, c, 9, padding=4), nn.GELU(), nn.Conv1d(c, 1, 9, padding=4))

    def forward(self, x):
        a = self.enc1(x)
        return self.dec(torch.cat([a, self.up(self.enc2(a))], 1))


def main():
    torch.manual_seed(3)
    rng = np.random.default_rng(100)
    recs = [recording(30, rng) for _ in range(24)]
    train_set = RandomCrops(recs[:18], per_epoch=320)
    valid_set = RandomCrops(recs[18:], per_epoch=300, seed=1)
    valid = [valid_set[i] for i in range(len(valid_set))]
    xv, yv = torch.stack([a for a, _ in valid]), torch.stack([b for _, b in valid])
    loader = DataLoader(train_set, batch_size=16, num_workers=2, worker_init_fn=fresh_rng)

    net = Denoiser()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 30)
    for epoch in range(30):
        net.train()
        mean = 0.0
        for noisy, clean in loader:
            loss = nn.functional.mse_loss(net(noisy), clean)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            mean += loss.item() / len(loader)
        sched.step()
        net.eval()
        with torch.no_grad():
            v = nn.functional.mse_loss(net(xv), yv).item()
        if epoch % 3 == 2:
            print(f"epoch {epoch + 1:3d}  train {mean:.4f}  valid {v:.4f}  SNR gain {10 * np.log10(0.49 / v):.2f} dB")


if __name__ == "__main__":
    main()
