"""Find the few scratched parts on a conveyor belt. About one part in twenty is scratched."""
import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import average_precision_score, f1_score, recall_score
from torch.utils.data import DataLoader, TensorDataset


def photograph(n, rng, size=16):
    img = 0.15 * rng.normal(size=(n, size, size)) + rng.uniform(-0.3, 0.3, (n, 1, 1))
    scratched = rng.random(n) < 0.05
    for i in np.flatnonzero(scratched):
        r, c = rng.integers(2, size - 8, 2)
        length = rng.integers(5, 8)
        steps = np.arange(length)
        img[i, r + steps, c + (steps if rng.random() < 0.5 else steps // 2)] += rng.uniform(0.8, 1.4)
    return torch.tensor(img[:, None], dtype=torch.float32), torch.tensor(scratched, dtype=torch.float32)


class Inspector(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveMaxPool2d(1), nn.Flatten())
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        return self.head(self.conv(x)).squeeze(1)


def evaluate(model, loader, loss_fn):
    model.eval()
    with torch.no_grad():
        pairs = [(model(x), y) for x, y in loader]
    logit, y = (torch.cat(t) for t in zip(*pairs))
    hard = (logit > 0).int()
    return dict(loss=loss_fn(logit, y).item(), acc=(hard == y.int()).float().mean().item(),
                recall=recall_score(y, hard), f1=f1_score(y, hard), ap=average_precision_score(y, logit))


def main():
    rng = np.random.default_rng(6)
    torch.manual_seed(6)
    train_x, train_y = photograph(5000, rng)
    test_x, test_y = photograph(2500, rng)
    print(f"scratched: {int(train_y.sum())} of {len(train_y)} train, {int(test_y.sum())} of {len(test_y)} test")
    train_loader = DataLoader(TensorDataset(train_x, train_y), batch_size=64, shuffle=True)
    test_loader = DataLoader(TensorDataset(test_x, test_y), batch_size=500)
    model = Inspector()
    loss_fn = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(8):
        model.train()
        total = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        m = evaluate(model, test_loader, loss_fn)
        print(f"epoch {epoch + 1}: train {total / len(train_loader):.4f} " + ", ".join(f"{k} {v:.3f}" for k, v in m.items()))


if __name__ == "__main__":
    main()
