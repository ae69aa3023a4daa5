"""Emulator of a spectrometer: eight physical parameters -> reflectance in 512 channels and six broad-band colours."""
import torch
import torch.nn as nn

torch.manual_seed(31)
N_CHANNELS, N_LINES, N_COLOURS = 512, 8, 6
PRECISION = torch.float16
WEIGHTS = {"spectrum": 0.1, "colours": 1.0}

wave = torch.linspace(0, 1, N_CHANNELS)
centres = torch.linspace(0.08, 0.92, N_LINES)
widths = torch.tensor([0.02, 0.05, 0.03, 0.06, 0.025, 0.04, 0.05, 0.03])
mixing = torch.randn(N_LINES, N_COLOURS) * 0.6


def simulate(n):
    theta = torch.rand(n, N_LINES) * 2 - 1
    depth = 0.04 * (1 + theta)
    shift = 0.01 * theta.roll(1, dims=1)
    profile = torch.exp(-0.5 * ((wave - (centres + shift)[..., None]) / widths[:, None]) ** 2)
    spectrum = 0.10 + 0.02 * theta[:, :1] * (wave - 0.5) - (depth[..., None] * profile).sum(1)
    colours = theta @ mixing + 0.5 * theta.roll(2, dims=1)[:, :N_COLOURS] * theta[:, :N_COLOURS]
    return theta, spectrum, colours


class Emulator(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.spectrum = nn.Sequential(nn.Linear(N_LINES, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, N_CHANNELS))
        self.colours = nn.Sequential(nn.Linear(N_LINES, 64), nn.GELU(), nn.Linear(64, N_COLOURS))

    def forward(self, theta):
        return self.spectrum(theta), self.colours(theta)


theta_train, spec_train, col_train = simulate(5000)
theta_val, spec_val, col_val = simulate(1000)
mean_spectrum = spec_train.mean(0)

model = Emulator()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
n_epochs, batch = 18, 256
scaler = torch.amp.GradScaler("cpu")
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_epochs)

for epoch in range(n_epochs):
    model.train()
    seen = 0.0
    for idx in torch.randperm(len(theta_train)).split(batch):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=PRECISION):
            residual, colours = model(theta_train[idx])
        spec_loss = (mean_spectrum + residual.float() - spec_train[idx]).pow(2).mean()
        col_loss = (colours.float() - col_train[idx]).pow(2).mean()
        loss = WEIGHTS["spectrum"] * spec_loss + WEIGHTS["colours"] * col_loss
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        seen += loss.item() * len(idx)
    scheduler.step()
    model.eval()
    with torch.no_grad():
        residual, colours = model(theta_val)
    error, col_mse = mean_spectrum + residual - spec_val, (colours - col_val).pow(2).mean()
    explained = 1 - error.pow(2).mean() / (spec_val - mean_spectrum).pow(2).mean()
    val = WEIGHTS["spectrum"] * error.pow(2).mean() + WEIGHTS["colours"] * col_mse
    print(f"epoch {epoch + 1:2d}  train {seen / len(theta_train):.5f}  val {val:.5f}  spectrum: rms {error.pow(2).mean().sqrt():.5f} explained {explained:.4f}  colours mse {col_mse:.5f}")
