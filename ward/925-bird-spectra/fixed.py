"""Bird species from call spectra, 1-d convolutions."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(2)
torch.manual_seed(2)
species = ["wren", "robin", "dunnock", "siskin", "linnet", "serin"]


def calls(kind, n):
    f = np.linspace(0, 1, 32)
    centre = 0.3 + 0.08 * kind + rng.normal(0, 0.02, (n, 1))
    spec = 2 * np.exp(-((f - centre) / 0.06) ** 2) + np.exp(-((f - 0.5 * centre) / 0.05) ** 2)
    return (spec + rng.normal(0, 0.5, (n, 32)) - 0.3).astype(np.float32)


def collect(per_species):
    x = np.concatenate([calls(k, per_species) for k in range(len(species))])
    y = np.repeat(np.arange(len(species)), per_species)
    return TensorDataset(torch.from_numpy(x)[:, None], torch.from_numpy(y))


train_dl = DataLoader(collect(384), batch_size=16, shuffle=True)
val_dl = DataLoader(collect(60), batch_size=120)

net = nn.Sequential(
    nn.Conv1d(1, 12, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2),
    nn.Conv1d(12, 16, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2),
    nn.Flatten(), nn.Linear(128, len(species)),
)
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(3):
    net.train()
    train_loss = []
    for x, y in train_dl:
        opt.zero_grad()
        loss = loss_fn(net(x), y)
        loss.backward()
        opt.step()
        train_loss.append(loss.item())
    net.eval()
    val_loss, hits, n = 0.0, 0, 0
    with torch.no_grad():
        for x, y in val_dl:
            out = net(x)
            val_loss += loss_fn(out, y).item() * len(y)
            hits += (out.argmax(1) == y).sum().item()
            n += len(y)
    print(f"epoch {epoch + 1}/3 train_loss={np.mean(train_loss):.4f} val_loss={val_loss / n:.4f} val_acc={hits / n:.3f}")
