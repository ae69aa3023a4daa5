"""Potters' marks: six stamps, step-based training."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(18)
STEPS, BATCH = 240, 32

stamps = torch.randn(6, 1, 10, 10).sign()


def sherds(n):
    y = torch.randint(6, (n,))
    x = 0.55 * stamps[y] * (0.5 + torch.rand(n, 1, 1, 1)) + torch.randn(n, 1, 10, 10)
    return x, y


loader = DataLoader(TensorDataset(*sherds(2000)), batch_size=BATCH)
val_x, val_y = sherds(400)

net = nn.Sequential(
    nn.Conv2d(1, 12, 3), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(192, 48), nn.ReLU(), nn.Linear(48, 6),
)
opt = torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.9)
ce = nn.CrossEntropyLoss()

for step in range(1, STEPS + 1):
    net.train()
    x, y = next(iter(loader))
    loss = ce(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        net.eval()
        with torch.no_grad():
            out = net(val_x)
            print(f"step {step}: loss {loss.item():.4f} val loss {ce(out, val_y).item():.4f} val acc {(out.argmax(1) == val_y).float().mean().item():.3f}")
