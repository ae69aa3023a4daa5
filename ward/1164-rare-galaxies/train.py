"""Galaxy morphology from 16 shape parameters: spirals are common, rings and mergers are rare."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

NAMES = ["spiral", "elliptical", "ring", "merger"]
SHARES = torch.tensor([0.72, 0.22, 0.04, 0.02])


def survey(n, seed):
    g = torch.Generator().manual_seed(seed)
    centres = 1.1 * torch.randn(4, 16, generator=torch.Generator().manual_seed(99))
    y = torch.multinomial(SHARES, n, replacement=True, generator=g)
    return centres[y] + torch.randn(n, 16, generator=g), y


def per_class_recall(pred, y):
    return [(pred[y == k] == k).float().mean().item() for k in range(4)]


def main():
    torch.manual_seed(44)
    x, y = survey(4000, seed=1)
    x_val, y_val = survey(1500, seed=2)
    mean, std = x.mean(0), x.std(0)
    x, x_val = (x - mean) / std, (x_val - mean) / std

    counts = torch.bincount(y, minlength=4)
    print("training counts:", dict(zip(NAMES, counts.tolist())))
    sampler = WeightedRandomSampler((1.0 / counts.double())[y], num_samples=2000, replacement=True)
    loader = DataLoader(TensorDataset(x, y), batch_size=50, sampler=sampler)

    net = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 4))
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3, weight_decay=1e-3)
    for epoch in range(1, 7):
        net.train()
        total = 0.0
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(xb), yb)
            loss.backward()
            optimizer.step()
            total += loss.item()
        net.eval()
        with torch.no_grad():
            out = net(x_val)
        recall = per_class_recall(out.argmax(1), y_val)
        print(f"epoch {epoch} train {total / len(loader):.4f} val {nn.functional.cross_entropy(out, y_val):.4f} "
              + " ".join(f"{n} {r:.2f}" for n, r in zip(NAMES, recall)))


if __name__ == "__main__":
    main()
