"""Digits by a wide two-layer net; how tight the classes lie in feature space is followed over the epochs."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(12)
DATA = load_digits()
X = torch.tensor(DATA.data, dtype=torch.float32) / 16
Y = torch.tensor(DATA.target)
HELD_OUT = torch.arange(len(Y)) % 5 == 0


class WideNet(nn.Module):
    def __init__(self, width=2048):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, width), nn.Tanh())
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        z = self.features(x)
        return self.head(z), z


def tightness(features, labels):
    """Mean distance to the centre of the class, over the distance between centres."""
    centres = torch.stack([features[labels == c].mean(0) for c in range(10)])
    inside = (features - centres[labels]).norm(dim=1).mean()
    return (inside / torch.pdist(centres).mean()).item()


def held_out(model):
    model.eval()
    with torch.no_grad():
        out, _ = model(X[HELD_OUT])
    y = Y[HELD_OUT]
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


def train(epochs=11, batch=128):
    model = WideNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = X[~HELD_OUT], Y[~HELD_OUT]
    seen, of = torch.empty(0, 2048), torch.empty(0, dtype=torch.long)
    for epoch in range(1, epochs + 1):
        model.train()
        total = 0.0
        for ids in torch.randperm(len(y)).split(batch):
            out, z = model(x[ids])
            loss = F.cross_entropy(out, y[ids])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(ids)
            seen = torch.cat([seen, z.detach()])
            of = torch.cat([of, y[ids]])
        loss, accuracy = held_out(model)
        newest = tightness(seen[-1000:], of[-1000:])
        print(f"epoch {epoch:2d} train {total / len(y):.4f} held out {loss:.4f} accuracy {accuracy:.3f} tightness {newest:.3f}")


if __name__ == "__main__":
    train()
