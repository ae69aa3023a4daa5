"""Classify short radar returns (rising, falling, up-down, down-up, steady, two-tone) with a 1-D convnet."""
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CLASSES = ["rising", "falling", "up-down", "down-up", "steady", "two-tone"]


def make_returns(n, length=128, noise=0.9, seed=0):
    g = torch.Generator().manual_seed(seed)
    label = torch.randint(0, len(CLASSES), (n,), generator=g)
    t = torch.linspace(0, 1, length).expand(n, length)
    lo = 6 + 4 * torch.rand(n, 1, generator=g)
    hi = lo + 8 + 4 * torch.rand(n, 1, generator=g)
    tent = 1 - (2 * t - 1).abs()
    freq = torch.stack([lo + (hi - lo) * t, hi - (hi - lo) * t, lo + (hi - lo) * tent, hi - (hi - lo) * tent,
                        (lo + hi) / 2 + 0 * t, lo + 0 * t])
    freq = freq[label, torch.arange(n)]
    phase = 2 * math.pi * (torch.cumsum(freq, 1) / length + torch.rand(n, 1, generator=g))
    wave = torch.sin(phase)
    second = torch.sin(2 * math.pi * (hi * t + torch.rand(n, 1, generator=g)))
    wave = torch.where((label == 5).unsqueeze(1), 0.7 * (wave + second), wave)
    return (wave + noise * torch.randn(n, length, generator=g)).unsqueeze(1), label


def block(c_in, c_out, kernel):
    return nn.Sequential(nn.Conv1d(c_in, c_out, kernel, padding=kernel // 2, bias=False), nn.BatchNorm1d(c_out), nn.ReLU(),
                         nn.MaxPool1d(2))


class ChirpNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(block(1, 16, 9), block(16, 24, 5), block(24, 32, 5), block(32, 32, 3))
        self.dropout = nn.Dropout(0.3)
        self.head = nn.Linear(32 * 8, len(CLASSES))

    def forward(self, x):
        return self.head(self.dropout(self.features(x).flatten(1)))


def configure_optimizer(model, lr, weight_decay):
    """Weight decay on the weights, none on biases and norm layers."""
    decay = [p for p in model.parameters() if p.ndim >= 2]
    no_decay = [p for p in model.parameters() if p.ndim == 1]
    groups = [{"params": decay, "weight_decay": weight_decay}, {"params": no_decay, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr)


def accuracy(model, loader):
    model.eval()
    loss = hit = 0.0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            loss += nn.functional.cross_entropy(out, y, reduction="sum").item()
            hit += (out.argmax(1) == y).sum().item()
    return loss / len(loader.dataset), hit / len(loader.dataset)


def main():
    torch.manual_seed(10)
    train = DataLoader(TensorDataset(*make_returns(4000, seed=1)), batch_size=64, shuffle=True)
    val = DataLoader(TensorDataset(*make_returns(1000, seed=2)), batch_size=250)
    epochs = 10
    model = ChirpNet()
    opt = configure_optimizer(model, lr=2e-3, weight_decay=0.05)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs * len(train))
    for epoch in range(epochs):
        model.train()
        running = 0.0
        for x, y in train:
            opt.zero_grad(set_to_none=True)
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            opt.step()
            sched.step()
            running += loss.item()
        val_loss, val_acc = accuracy(model, val)
        print(f"epoch {epoch + 1:2d}/{epochs}  train {running / len(train):.4f}  val {val_loss:.4f}  acc {val_acc:.3f}")


if __name__ == "__main__":
    main()
