"""Encoder and decoder for tide curves; sizes come from a config dict."""
import torch
import torch.nn as nn

CONFIG = {"length": 24, "widths": [48, 24, 6], "lr": 3e-3, "steps": 300, "batch": 64, "seed": 3}


def stack(sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.SiLU()]
    return nn.Sequential(*layers[:-1])


class TideAE(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        down = [cfg["length"], *cfg["widths"]]
        self.encoder = stack(down)
        self.decoder = stack([8, *down[-2::-1]])

    def forward(self, x):
        return self.decoder(self.encoder(x))


def curves(n, length):
    t = torch.linspace(0, 2, length)
    a, b, p, q = torch.rand(4, n, 1)
    return (0.5 + a) * torch.sin(6.28 * (t + p)) + 0.4 * b * torch.sin(12.57 * (t + q)) + 0.03 * torch.randn(n, length)


def main(cfg):
    torch.manual_seed(cfg["seed"])
    net = TideAE(cfg)
    opt = torch.optim.Adam(net.parameters(), lr=cfg["lr"])
    print(net)
    for step in range(1, cfg["steps"] + 1):
        x = curves(cfg["batch"], cfg["length"])
        loss = nn.functional.mse_loss(net(x), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 30 == 0 or step == 1:
            print(f"step {step:3d} mse {loss.item():.4f}")


main(CONFIG)
