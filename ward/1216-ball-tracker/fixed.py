"""Where is the ball? Heatmap regression on 20x20 crops around the last known position."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

S = 20
grid_y, grid_x = torch.meshgrid(torch.arange(S), torch.arange(S), indexing="ij")


class Crops(Dataset):
    """crop, heatmap, centre; now and then the ball has left the crop"""

    def __init__(self, n, seed, sigma=1.0):
        g = torch.Generator().manual_seed(seed)
        self.centre = torch.rand(n, 2, generator=g) * (S - 4) + 2
        gone = torch.rand(n, generator=g) < 0.012
        self.centre[gone] = torch.tensor([-16.0, 10.0])
        self.noise = 0.25 * torch.randn(n, S, S, generator=g)
        self.sigma = sigma

    def __len__(self):
        return len(self.centre)

    def __getitem__(self, i):
        cx, cy = self.centre[i]
        d2 = (grid_x - cx) ** 2 + (grid_y - cy) ** 2
        crop = (d2 < 6).float() + self.noise[i]
        heat = torch.exp(-d2 / (2 * self.sigma ** 2))
        heat = heat / heat.max().clamp(min=1e-6)
        return crop.unsqueeze(0), heat.unsqueeze(0), self.centre[i]


class HeatNet(nn.Module):
    def __init__(self, c=12):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, c, 5, padding=2), nn.ReLU(),
            nn.Conv2d(c, c, 3, padding=1), nn.ReLU(),
            nn.Conv2d(c, 1, 1))

    def forward(self, x):
        return self.layers(x)


def pixel_error(heat, centre):
    top = heat.flatten(1).argmax(1)
    seen = centre[:, 0] >= 0
    found = torch.stack([top % S, top // S], 1).float()
    return (found - centre).norm(dim=1)[seen]


def train(epochs=4, lr=3e-3):
    torch.manual_seed(1)
    train_dl = DataLoader(Crops(1200, seed=1), batch_size=24, shuffle=True)
    val_dl = DataLoader(Crops(300, seed=2), batch_size=100)
    net = HeatNet()
    opt = torch.optim.Adam(net.parameters(), lr=lr)
    mse = nn.MSELoss()
    for epoch in range(1, epochs + 1):
        net.train()
        acc = 0.0
        for crop, heat, _ in train_dl:
            opt.zero_grad()
            loss = 100 * mse(net(crop), heat)
            loss.backward()
            opt.step()
            acc += loss.item()
        net.eval()
        with torch.no_grad():
            err = torch.cat([pixel_error(net(crop), centre) for crop, _, centre in val_dl])
        print(f"epoch {epoch} loss {acc / len(train_dl):.4f} val error {err.mean():.2f} px")


if __name__ == "__main__":
    train()
