import argparse
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=18)
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--accum", type=int, default=2, help="gradient accumulation steps")
parser.add_argument("--lr", type=float, default=0.003)
args = parser.parse_args()

torch.manual_seed(8)


def fake_mel(n):
    """20 mel bands x 12 frames; label: 0 dry cough, 1 wet cough, 2 throat clearing"""
    lab = torch.randint(0, 3, (n,))
    f = torch.arange(20.)[None, :, None]
    t = torch.arange(12.)[None, None, :]
    centre = torch.tensor([14., 7., 4.])[lab][:, None, None] + 1.5 * torch.randn(n, 1, 1)
    decay = torch.tensor([0.6, 0.25, 0.1])[lab][:, None, None]
    s = torch.exp(-((f - centre) / 3) ** 2) * torch.exp(-decay * t) * 2
    return (s + 0.5 * torch.randn(n, 20, 12)).unsqueeze(1), lab


Xtr, ytr = fake_mel(640)
Xva, yva = fake_mel(400)
train_dl = DataLoader(TensorDataset(Xtr, ytr), batch_size=args.batch_size, shuffle=True)
valid_dl = DataLoader(TensorDataset(Xva, yva), batch_size=200)

model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(8, 12, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d((5, 2)),
    nn.Flatten(), nn.Linear(12 * 10, 3))
ce = nn.CrossEntropyLoss()
opt = torch.optim.Adam(model.parameters(), lr=args.lr)

for epoch in range(args.epochs):
    model.train()
    opt.zero_grad()
    tot = 0.
    for step, (xb, yb) in enumerate(train_dl):
        loss = ce(model(xb), yb)
        (loss / args.accum).backward()
        if (step + 1) % args.accum == 0:
            opt.step()
            opt.zero_grad()
        tot += loss.item()
    model.eval()
    hit, vloss = 0, 0.
    with torch.no_grad():
        for xb, yb in valid_dl:
            o = model(xb)
            vloss += ce(o, yb).item() / len(valid_dl)
            hit += (o.argmax(1) == yb).sum().item()
    print(f"epoch {epoch:2d}: loss {tot / len(train_dl):.4f} val_loss {vloss:.4f} val_acc {hit / len(yva):.3f}")
