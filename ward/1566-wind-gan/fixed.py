"""GAN that imitates the joint distribution of wind (x) and drag (y) readings."""
import torch
import torch.nn as nn

torch.manual_seed(11)
LATENT, BATCH, STEPS = 4, 128, 1800


def real_batch(n):
    wind = torch.randn(n)
    drag = 0.6 * wind ** 2 - 0.6 + 0.25 * torch.randn(n)
    return torch.stack([wind, drag], dim=1)


generator = nn.Sequential(nn.Linear(LATENT, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))
discriminator = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=5e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(BATCH, 1), torch.zeros(BATCH, 1)


def train_discriminator(real):
    opt_d.zero_grad()
    fake = generator(torch.randn(BATCH, LATENT)).detach()
    loss = bce(discriminator(real), ones) + bce(discriminator(fake), zeros)
    loss.backward()
    opt_d.step()
    return loss.item()


def train_generator():
    opt_g.zero_grad()
    loss = bce(discriminator(generator(torch.randn(BATCH, LATENT))), ones)
    loss.backward()
    opt_g.step()
    return loss.item()


directions = torch.nn.functional.normalize(torch.randn(2, 32), dim=0)


@torch.no_grad()
def sliced_distance(n=2000):
    fake = (generator(torch.randn(n, LATENT)) @ directions).sort(dim=0).values
    real = (real_batch(n) @ directions).sort(dim=0).values
    return (fake - real).abs().mean().item()


d_sum = g_sum = 0.0
for step in range(1, STEPS + 1):
    d_sum += train_discriminator(real_batch(BATCH))
    g_sum += train_generator()
    if step % 150 == 0:
        print(f"step {step:4d} D {d_sum / 150:.3f} G {g_sum / 150:.3f} sliced Wasserstein {sliced_distance():.3f}")
        d_sum = g_sum = 0.0
