import torch
from torch import nn

torch.manual_seed(2024)

BEAT = 64


def beats(n):
    """clean synthetic heart beats: P, QRS and T waves with varying places and heights"""
    t = torch.linspace(0, 1, BEAT)[None]
    u = lambda lo, hi: lo + (hi - lo) * torch.rand(n, 1)
    g = lambda c, w, a: a * torch.exp(-((t - c) / w) ** 2 / 2)
    c = u(0.4, 0.6)
    return (g(c - 0.2, 0.03, u(0.1, 0.3)) + g(c, 0.012, u(0.8, 1.6)) - g(c + 0.035, 0.015, u(0.1, 0.5))
            + g(c + 0.22, 0.05, u(0.2, 0.5)))


clean = beats(1600)
mean, std = clean.mean(), clean.std()
clean = (clean - mean) / std
train_x, val_x = clean[:1280], clean[1280:]
val_noisy = val_x + 0.4 * torch.randn_like(val_x)

encoder = nn.Sequential(nn.Linear(BEAT, 64), nn.ELU(), nn.Linear(64, 12))
decoder = nn.Sequential(nn.Linear(12, 64), nn.ELU(), nn.Linear(64, BEAT))

enc_opt = torch.optim.Adam(encoder.parameters(), lr=3e-3)
dec_opt = torch.optim.Adam(decoder.parameters(), lr=3e-3)
mse = nn.MSELoss()


def train_epoch():
    encoder.train(), decoder.train()
    total = 0
    for ids in torch.randperm(len(train_x)).split(64):
        x = train_x[ids]
        noisy = x + 0.4 * torch.randn_like(x)
        enc_opt.zero_grad()
        enc_opt.zero_grad()
        loss = mse(decoder(encoder(noisy)), x)
        loss.backward()
        enc_opt.step()
        dec_opt.step()
        total += loss.item() * len(ids)
    return total / len(train_x)


@torch.no_grad()
def validate():
    encoder.eval(), decoder.eval()
    return mse(decoder(encoder(val_noisy)), val_x).item()


print(f"noise itself: mse {mse(val_noisy, val_x).item():.4f}")
for epoch in range(30):
    tr = train_epoch()
    va = validate()
    if epoch % 3 == 2:
        print(f"[{epoch + 1:02d}] train mse {tr:.4f}   val mse {va:.4f}")
