"""Embeddings of map tiles: nearby views of one place belong together (triplet loss)."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn


class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(256, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 32))
        self.activations = {}

    def forward(self, x):
        return F.normalize(self.layers(x), dim=-1)


def probe(encoder, layer):
    """Keep what a layer gives, to look at it afterwards."""

    def hook(module, inputs, output):
        encoder.activations[len(encoder.activations)] = output.detach()

    return layer.register_forward_hook(hook)


def views(places, n, noise, generator):
    which = torch.randint(len(places), (n,), generator=generator)
    other = (which + torch.randint(1, len(places), (n,), generator=generator)) % len(places)
    look = lambda i: places[i] + noise * torch.randn(n, places.shape[1], generator=generator)
    return look(which), look(which), look(other)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batches", type=int, default=40)
    parser.add_argument("--width", type=int, default=256)
    args = parser.parse_args()
    torch.manual_seed(1)
    generator = torch.Generator().manual_seed(2)
    places = torch.randn(60, 256, generator=generator)
    encoder = Encoder(args.width)
    probe(encoder, encoder.layers[0])
    optimizer = torch.optim.Adam(encoder.parameters(), lr=5e-4)
    for epoch in range(args.epochs):
        encoder.train()
        for _ in range(args.batches):
            anchor, near, far = views(places, 256, 1.5, generator)
            loss = F.triplet_margin_loss(encoder(anchor), encoder(near), encoder(far), margin=0.6)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        encoder.eval()
        with torch.no_grad():
            a, n, f = (encoder(v) for v in views(places, 500, 1.5, generator))
            right = ((a - n).norm(dim=1) < (a - f).norm(dim=1)).float().mean().item()
        print(f"epoch {epoch}: loss {loss.item():.4f}, {100 * right:.1f} % of triplets in order")
    last = encoder.activations[max(encoder.activations)]
    print("last layer-1 mean", last.mean().item())


if __name__ == "__main__":
    main()
