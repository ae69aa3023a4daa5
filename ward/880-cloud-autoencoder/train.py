"""A convolutional autoencoder for small cloud pictures; reconstructions are drawn at the end."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)


def clouds(n, seed):
    g = torch.Generator().manual_seed(seed)
    grid = torch.linspace(-1, 1, 32)
    yy, xx = torch.meshgrid(grid, grid, indexing="ij")
    centre = torch.rand(n, 3, 2, 1, 1, generator=g) * 1.6 - 0.8
    width = 0.1 + 0.3 * torch.rand(n, 3, 1, 1, generator=g)
    blobs = torch.exp(-((yy - centre[:, :, 0]) ** 2 + (xx - centre[:, :, 1]) ** 2) / width**2)
    return blobs.sum(1, keepdim=True).clamp(max=1)


train = DataLoader(TensorDataset(clouds(1024, 1)), batch_size=64, shuffle=True)
held_out = clouds(256, 2)

model = nn.Sequential(
    nn.Conv2d(1, 8, 3, stride=2, padding=1),
    nn.ReLU(),
    nn.Conv2d(8, 16, 3, stride=2, padding=1),
    nn.ReLU(),
    nn.Flatten(),
    nn.Linear(1024, 48),
    nn.Linear(48, 1024),
    nn.ReLU(),
    nn.Unflatten(1, (16, 8, 8)),
    nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1),
    nn.ReLU(),
    nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1),
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
loss_fn = nn.MSELoss()
gallery = []

for epoch in range(14):
    model.train()
    total = 0.0
    for (x,) in train:
        out = model(x)
        loss = loss_fn(out, x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        gallery.append((x.detach().clone(), out.detach()))
    model.eval()
    with torch.no_grad():
        val = loss_fn(model(held_out), held_out).item()
    print(f"epoch {epoch}: train {total / len(train):.4f} val {val:.4f}")

before, after = gallery[-1]
print("last batch, brightest pixel:", before.max().item(), after.max().item())
