"""Same seal or not? Siamese net on wax-seal impressions, 32 profile readings each."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

N_SEALS = 60
STAMPS = np.random.default_rng(9).normal(size=(N_SEALS, 32))


def scan(impressions, seed, range_switch=0.0):
    """Profiles in the order seal by seal; the scanner's amplifier switches its range now and then."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(N_SEALS), impressions)
    profile = STAMPS[owner] + rng.normal(0, 0.45, (len(owner), 32))
    profile[rng.random(len(owner)) < range_switch] *= 100
    return profile.astype(np.float32), owner


class Pairs(Dataset):
    def __init__(self, profiles, owner, n_pairs, seed):
        rng = np.random.default_rng(seed)
        self.profiles, self.pairs = torch.from_numpy(profiles), []
        for i in range(n_pairs):
            a = rng.integers(N_SEALS)
            b = a if i % 2 else (a + rng.integers(1, N_SEALS)) % N_SEALS
            first = rng.choice(np.flatnonzero(owner == a))
            second = rng.choice(np.flatnonzero(owner == b))
            self.pairs.append((first, second, float(a == b)))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        a, b, same = self.pairs[i]
        return self.profiles[a], self.profiles[b], torch.tensor(same)


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.tower = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 12))
        self.scale = nn.Parameter(torch.tensor(-1.0))
        self.offset = nn.Parameter(torch.tensor(1.0))

    def forward(self, a, b):
        gap = (self.tower(a) - self.tower(b)).abs().mean(1)
        return self.scale * gap + self.offset


def main():
    torch.manual_seed(9)
    profiles, owner = scan(impressions=10, seed=1, range_switch=0.01)
    loader = DataLoader(Pairs(profiles, owner, 1200, seed=1), batch_size=30, shuffle=True)
    val_loader = DataLoader(Pairs(*scan(impressions=4, seed=2), 400, seed=2), batch_size=400)
    model = Siamese()
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(6):
        model.train()
        losses = []
        for a, b, same in loader:
            optimizer.zero_grad()
            loss = criterion(model(a, b), same)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            a, b, same = next(iter(val_loader))
            out = model(a, b)
            acc = ((out > 0) == (same > 0)).float().mean()
        print(f"epoch {epoch} mean {np.mean(losses):.3f} worst {max(losses):.2f} "
              f"val {criterion(out, same):.3f} acc {acc:.3f}")


main()
