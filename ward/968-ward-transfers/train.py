import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(14)
DEPARTMENTS = 4


def admissions(n):
    department = torch.randint(0, DEPARTMENTS, (n,))
    centres = torch.randn(DEPARTMENTS, 7)
    vitals = centres[department] * 0.8 + torch.randn(n, 7)
    transfer = 10 * department + torch.randint(0, 3, (n,))
    return torch.cat([vitals[:, :3], transfer[:, None] / 20.0, vitals[:, 3:]], dim=1), department


def run(epochs=12, batch_size=64):
    features, department = admissions(2600)
    train_set, val_set = random_split(TensorDataset(features, department), [2100, 500])
    train_loader = DataLoader(train_set, batch_size=batch_size, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=250)
    model = nn.Sequential(nn.Linear(features.shape[1], 64), nn.ReLU(), nn.Linear(64, DEPARTMENTS))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for epoch in range(epochs):
        model.train()
        for features, target in train_loader:
            loss = F.cross_entropy(model(features), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            scores = [(F.cross_entropy(model(x), y).item(), (model(x).argmax(1) == y).float().mean().item()) for x, y in val_loader]
        val, acc = (sum(s) / len(s) for s in zip(*scores))
        print(f"epoch {epoch + 1:2d} loss {loss.item():.4f} val {val:.4f} acc {acc:.3f}")


run()
