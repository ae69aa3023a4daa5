"""Spectra of substances: pretrain on the substance, then probe the frozen encoder for the hazard group."""
import io

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SUBSTANCES, BANDS, FEATURES = 20, 100, 32


def lab(n, seed):
    rng = np.random.default_rng(seed)
    fixed = np.random.default_rng(2024)
    place = fixed.uniform(0, BANDS, (SUBSTANCES, 4))
    size = fixed.uniform(0.4, 1.2, (SUBSTANCES, 4))
    group = fixed.permutation(np.arange(SUBSTANCES) % 4)
    which = rng.integers(0, SUBSTANCES, n)
    grid = np.arange(BANDS)
    at = place[which] + rng.normal(0, 2.0, (n, 4))
    spectrum = (size[which][:, :, None] * rng.uniform(0.6, 1.4, (n, 4, 1)) * np.exp(-((grid - at[:, :, None]) / 4) ** 2)).sum(1)
    spectrum += rng.normal(0, 0.15, (n, BANDS))
    x = torch.tensor((spectrum - 0.22) / 0.38, dtype=torch.float32)
    return x, torch.tensor(which), torch.tensor(group[which])


def make_encoder():
    return nn.Sequential(nn.Linear(BANDS, 96), nn.ReLU(), nn.Dropout(0.2), nn.Linear(96, FEATURES), nn.ReLU())


class SubstanceNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = make_encoder()
        self.classifier = nn.Linear(FEATURES, SUBSTANCES)

    def forward(self, x):
        return self.classifier(self.encoder(x))


class HazardProbe(nn.Module):
    def __init__(self, checkpoint):
        super().__init__()
        self.encoder = make_encoder()
        self.head = nn.Linear(FEATURES, 4)
        state = torch.load(checkpoint)["model"]
        self.load_state_dict(state, strict=False)
        for p in self.encoder.parameters():
            p.requires_grad = False

    def forward(self, x):
        return self.head(self.encoder(x))


def fit(model, x, y, xv, yv, epochs, lr, name):
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr, weight_decay=1e-2)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    for epoch in range(1, epochs + 1):
        model.train()
        losses = []
        for rows in torch.randperm(len(y)).split(64):
            loss = F.cross_entropy(model(x[rows]), y[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        sched.step()
        model.eval()
        with torch.no_grad():
            out = model(xv)
        if epoch % 3 == 0:
            print(f"{name} epoch {epoch:2d} loss {np.mean(losses):.4f} val {F.cross_entropy(out, yv):.4f} acc {(out.argmax(1) == yv).float().mean():.3f}")


torch.manual_seed(9)
x, substance, _ = lab(5000, 1)
xv, substance_v, _ = lab(1000, 2)
source = SubstanceNet()
fit(source, x, substance, xv, substance_v, epochs=15, lr=2e-3, name="substance")
checkpoint = io.BytesIO()
torch.save({"model": source.state_dict(), "bands": BANDS}, checkpoint)
checkpoint.seek(0)

x, _, hazard = lab(2500, 3)
xv, _, hazard_v = lab(1000, 4)
probe = HazardProbe(checkpoint)
fit(probe, x, hazard, xv, hazard_v, epochs=24, lr=1e-2, name="hazard")
